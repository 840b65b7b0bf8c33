import { existsSync, globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { repository } from "../examples/run-program.ts";

const records = globSync("docs/adr/0*.md", { cwd: repository }).toSorted();
const read = (path: string): Promise<string> => readFile(join(repository, path), "utf8");

describe("the decision records", () => {
  it.each(records)("%s has every section, and names files that exist", async (record) => {
    const text = await read(record);
    const headings = [...text.matchAll(/^## (.+)$/gm)].map((match) => match[1]);
    expect(headings).toEqual(["Context", "Decision", "What was tried or considered", "Consequences"]);
    const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map((match) => join(dirname(record), match[1]!));
    const paths = [...text.matchAll(/`((?:src|trainers|environments|sandbox|test|bench|docs)\/[\w./-]+)`/g)];
    const named = [...links, ...paths.map((match) => match[1]!)];
    expect(named.filter((path) => !existsSync(join(repository, path)))).toEqual([]);
  });

  it("are all in the list, with their numbers and titles", async () => {
    const titles = await Promise.all(records.map(async (record) => (await read(record)).split("\n")[0]!.slice(2)));
    const list = await read("docs/adr/README.md");
    const listed = [...list.matchAll(/^\| (\d+) \| \[(.+)\]\((0\d+)-.*\) \|$/gm)];
    expect(listed.map(([, number, title]) => `${number}. ${title}`)).toEqual(titles);
    expect(listed.map(([, , , file]) => Number(file))).toEqual(titles.map((_, index) => index + 1));
  });
});
