import { existsSync } from "node:fs";
import { glob, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { repository } from "../examples/run-program.ts";

const folders = ["src", "cli", "environments", "reports", "sandbox", "server", "trainers"];

async function glossaryRows() {
  const text = await readFile(join(repository, "docs/glossary.md"), "utf8");
  const rows = text.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| Term"));
  return rows.map((row) => {
    const [term, , code] = row.split(/(?<!\\)\|/).slice(1, -1);
    return { term: term!.trim(), names: [...code!.matchAll(/`([^`]+)`/g)].map((match) => match[1]!) };
  });
}

test("every term has one row", async () => {
  const terms = (await glossaryRows()).flatMap((row) => row.term.split(", "));
  expect(terms.length).toBeGreaterThan(50);
  expect(terms.filter((term, index) => terms.indexOf(term) !== index)).toEqual([]);
});

test("every name in the glossary is in the code", async () => {
  const paths = await Array.fromAsync(
    glob(
      folders.map((folder) => `${folder}/**/*.ts`),
      { cwd: repository },
    ),
  );
  const sources = await Promise.all(paths.map((path) => readFile(join(repository, path), "utf8")));
  const words = new Set(sources.flatMap((source) => source.match(/[\w/-]+/g) ?? []));
  const known = (name: string) =>
    ["", "sandbox"].some((folder) => existsSync(join(repository, folder, name))) ||
    name.split(".").every((word) => words.has(word));
  const rows = await glossaryRows();
  expect(rows.flatMap(({ names }) => names).filter((name) => !known(name))).toEqual([]);
  expect(rows.filter(({ names }) => names.length === 0)).toEqual([]);
});
