import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { repository } from "../examples/run-program.ts";
import { documents } from "./code-blocks.ts";

it.each(documents)("%s links to existing targets", async (document) => {
  const text = await readFile(join(repository, document), "utf8");
  const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1]!);
  const local = targets.filter((target) => !/^https?:/.test(target));
  const missing = local.filter((target) => !existsSync(join(repository, dirname(document), target.replace(/#.*/, ""))));
  expect(missing).toEqual([]);
});

it("every guide is linked from the README", async () => {
  const readme = await readFile(join(repository, "README.md"), "utf8");
  const guides = documents.filter((document) => document !== "README.md");
  expect(guides.filter((guide) => !readme.includes(`](${guide})`))).toEqual([]);
});

it("every import of the package is in the README", async () => {
  const readme = await readFile(join(repository, "README.md"), "utf8");
  const { exports } = JSON.parse(await readFile(join(repository, "package.json"), "utf8")) as { exports: object };
  const imports = Object.keys(exports).filter((path) => path !== "./package.json");
  const named = imports.map((path) => `| \`lyceum${path.slice(1)}\` |`);
  expect(named.filter((row) => !readme.includes(row))).toEqual([]);
});
