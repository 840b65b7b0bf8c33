import { existsSync } from "node:fs";
import { glob, readFile } from "node:fs/promises";
import { dirname, join, posix } from "node:path";
import { expect, it } from "vitest";
import { repository } from "../examples/run-program.ts";
import { documents } from "./code-blocks.ts";

const others = [
  ...["docs/adr/*.md", "environments/*/README.md", "examples/**/README.md"],
  ...["AGENTS.md", "NOTES.md", "SECURITY.md", "llms.txt", "skills/*/SKILL.md"],
];
const linking = [...documents, ...(await Array.fromAsync(glob(others, { cwd: repository })))];

/** The anchors of a document's headings. */
async function anchorsOf(path: string): Promise<ReadonlySet<string>> {
  const prose = (await readFile(path, "utf8")).replaceAll(/^```[\s\S]*?^```$/gm, "");
  const headings = [...prose.matchAll(/^#+ (.+)$/gm)].map((match) => match[1]!.replaceAll(/\[(.*?)\]\(.*?\)/g, "$1"));
  return new Set(
    headings.map((text) =>
      text
        .toLowerCase()
        .replaceAll(/[^\w\s-]/g, "")
        .replaceAll(" ", "-"),
    ),
  );
}

it.each(linking)("%s links to existing targets", async (document) => {
  const text = await readFile(join(repository, document), "utf8");
  const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1]!);
  const missing: string[] = [];
  for (const target of targets.filter((one) => !/^https?:/.test(one))) {
    const [path = "", anchor] = target.split("#");
    const file = path === "" ? join(repository, document) : join(repository, dirname(document), path);
    if (!existsSync(file) || (anchor !== undefined && !(await anchorsOf(file)).has(anchor))) missing.push(target);
  }
  expect(missing).toEqual([]);
});

it("every document is in the list of documents", async () => {
  const list = await readFile(join(repository, "docs/README.md"), "utf8");
  const own = ["README.md", "docs/README.md"];
  const listed = documents.filter((document) => !own.includes(document));
  const fromDocs = (document: string): string => posix.relative("docs", document);
  expect(listed.filter((document) => !list.includes(`](${fromDocs(document)})`))).toEqual([]);
  const readmes = await Array.fromAsync(glob("environments/*/README.md", { cwd: repository }));
  expect(readmes.filter((path) => !list.includes(`](${fromDocs(path)})`))).toEqual([]);
  expect(await readFile(join(repository, "README.md"), "utf8")).toContain("](docs/README.md)");
});

it("llms.txt has every document and environment of the list, except decisions", async () => {
  const list = await readFile(join(repository, "docs/README.md"), "utf8");
  const pages = [...list.matchAll(/^- .*\]\((?!adr\/)(.+?\.md)\)/gm)].map((match) => posix.join("docs", match[1]!));
  expect(pages.length).toBeGreaterThan(40);
  const index = await readFile(join(repository, "llms.txt"), "utf8");
  expect(pages.filter((page) => !index.includes(`](${page})`))).toEqual([]);
});

it("every import of the package is in the list of import paths", async () => {
  const list = await readFile(join(repository, "docs/imports.md"), "utf8");
  const { exports } = JSON.parse(await readFile(join(repository, "package.json"), "utf8")) as { exports: object };
  const imports = Object.keys(exports).filter((path) => path !== "./package.json");
  const named = imports.map((path) => `| \`lyceum${path.slice(1)}\` |`);
  expect(named.filter((row) => !list.includes(row))).toEqual([]);
});
