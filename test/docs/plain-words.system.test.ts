import { glob, readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseSync, Visitor } from "rolldown/utils";
import { expect, test } from "vitest";
import { repository } from "../examples/run-program.ts";

/** Words that comments, messages and documents avoid, because readers need to read the sentence twice. */
const words = [
  ...[
    "anew",
    "as it stands",
    "as they stand",
    "beside",
    "for ever",
    "hears",
    "heeds?",
    "in vain",
    "its kin",
    "likewise",
  ],
  ...["of nothing", "teaches nothing", "told", "vouched for", "without end"],
];
const pattern = new RegExp(`\\b(?:${words.join("|")})\\b`, "i");

/** English texts and word lists of environments, which may use any word. */
const wordData = /environments\/.*\/(?:posts|summaries|topics|transition-words|words|word-order)\.ts$/;

/** Returns the comments and strings of TypeScript with an avoided word. */
function avoidedTexts(path: string, source: string): string[] {
  if (!pattern.test(source)) return [];
  const { comments, program } = parseSync(path, source);
  const texts = comments.map(({ value }) => value);
  new Visitor({
    Literal: ({ value }) => void (typeof value === "string" && texts.push(value)),
    TemplateElement: ({ value }) => void texts.push(value.raw),
    JSXText: ({ value }) => void texts.push(value),
  }).visit(program);
  return texts.filter((text) => pattern.test(text.replace(/\s+(?:\* )?/g, " ")));
}

async function filesWithAvoidedWords(patterns: string[], find: (path: string, source: string) => string[]) {
  const paths = await Array.fromAsync(glob(patterns, { cwd: repository }));
  expect(paths.length).toBeGreaterThan(20);
  const found = await Promise.all(
    paths.map(async (path) => find(path, await readFile(join(repository, path), "utf8")).map((text) => [path, text])),
  );
  return found.flat();
}

test("comments and strings are checked, names are not", () => {
  expect(avoidedTexts("a.ts", "/** Starts\n * anew. */\nconst told = `done in vain`; // told\n")).toEqual([
    expect.stringContaining("anew"),
    " told",
    "done in vain",
  ]);
  expect(avoidedTexts("a.tsx", "const told = <p>told</p>;")).toEqual(["told"]);
  expect(avoidedTexts("a.ts", "const told = 1; // Retold in vainglory.")).toEqual([]);
});

test("code has no avoided word in comments and strings", async () => {
  const folders = [
    "src",
    "cli",
    "environments",
    "reports",
    "sandbox",
    "server",
    "trainers",
    "bench",
    "scripts",
    "examples",
  ].map((folder) => `${folder}/**/*.{ts,tsx}`);
  const find = (path: string, source: string) => (wordData.test(path) ? [] : avoidedTexts(path, source));
  expect(await filesWithAvoidedWords(folders, find)).toEqual([]);
});

test("documents and Python have no avoided word", async () => {
  const files = ["{environments,sandbox}/**/*.{md,py}", "docs/**/*.md", "*.md", "skills/**/*.md"];
  const lines = (_: string, source: string) => source.split("\n").filter((line) => pattern.test(line));
  expect(await filesWithAvoidedWords(files, lines)).toEqual([]);
});
