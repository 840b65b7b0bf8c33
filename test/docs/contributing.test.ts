import { existsSync } from "node:fs";
import { glob, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { repository } from "../examples/run-program.ts";

const document = await readFile(join(repository, "CONTRIBUTING.md"), "utf8");
/** Names of benchmarks look like paths. */
const text = document.replaceAll(/--only \S+/g, "");
const folders = "src|trainers|environments|sandbox|test|docs|bench|examples";

it("names files that exist", () => {
  const named = [...text.matchAll(new RegExp(`(?:${folders})/[\\w./-]+`, "g"))].map(([path]) =>
    path.replace(/\.$/, ""),
  );
  const real = named.filter((path) => !path.includes("NAME"));
  expect(real.length).toBeGreaterThan(25);
  expect(real.filter((path) => !existsSync(join(repository, path)))).toEqual([]);
});

it("names conformance suites that tests call", async () => {
  const suites = new Set(
    [...text.matchAll(/`((?:describe|check)[A-Z]\w*|\w+Conformance)`/g)].map((match) => match[1]!),
  );
  expect(suites.size).toBeGreaterThan(4);
  const tests = await Array.fromAsync(glob("test/**/*.test.ts", { cwd: repository }));
  const sources = await Promise.all(tests.map((path) => readFile(join(repository, path), "utf8")));
  expect([...suites].filter((suite) => !sources.some((source) => source.includes(`${suite}(`)))).toEqual([]);
});
