import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { referencePages } from "../../scripts/reference-pages.ts";
import { repository } from "../examples/run-program.ts";

const pages = await referencePages();

it.each(Object.entries(pages))("%s equals its sources (npm run docs writes it)", async (path, text) => {
  expect(await readFile(join(repository, path), "utf8")).toBe(text);
});

it("every key of a config is described", () => {
  const rows = pages["docs/configuration.md"]!.split("\n").filter((line) => line.startsWith("| `"));
  expect(rows.length).toBeGreaterThan(60);
  expect(rows.filter((row) => row.endsWith("|  |"))).toEqual([]);
});

it("every error code is described", async () => {
  const source = await readFile(join(repository, "src/contract/errors/lyceum-error.ts"), "utf8");
  const codes = [...source.matchAll(/^ {2}\| "([\w.-]+)"/gm)].map((match) => match[1]);
  const rows = [...pages["docs/errors.md"]!.matchAll(/^\| `([\w.-]+)` \|/gm)].map((match) => match[1]);
  expect(codes.length).toBeGreaterThan(15);
  expect(rows).toEqual(codes);
});
