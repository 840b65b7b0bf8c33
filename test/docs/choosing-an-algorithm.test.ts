import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { advantageEstimators } from "../../trainers/advantages/index.ts";
import { algorithms } from "../../trainers/algorithms/index.ts";
import { repository } from "../examples/run-program.ts";

const document = await readFile(join(repository, "docs/choosing-an-algorithm.md"), "utf8");
const section = (heading: string): string => document.split(/^## /m).find((text) => text.startsWith(`${heading}\n`))!;
const cellsOf = (row: string): string[] =>
  row
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim().replaceAll("`", ""));
const rowsOf = (heading: string): string[][] =>
  section(heading)
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map(cellsOf);

it("every algorithm is in one table of when to use it", () => {
  const listed = [...rowsOf("For one agent"), ...rowsOf("For teams")].map(([id]) => id);
  expect(listed.toSorted()).toEqual(
    algorithms
      .list()
      .map(({ id }) => id)
      .toSorted(),
  );
});

it("the table of defaults has every algorithm with its own defaults", () => {
  const header = section("Defaults")
    .split("\n")
    .find((line) => line.startsWith("| id"))!;
  const [, ...keys] = cellsOf(header);
  const actual = algorithms
    .list()
    .map(({ id, settings }) => ({ id, defaults: settings.parse({}) as Record<string, unknown> }))
    .map(({ id, defaults }) => [id, ...keys.map((key) => String(defaults[key] ?? ""))])
    .filter(([, ...values]) => values.some((value) => value !== ""));
  const byId = (a: string[], b: string[]): number => a[0]!.localeCompare(b[0]!);
  expect(rowsOf("Defaults").toSorted(byId)).toEqual(actual.toSorted(byId));
});

it("every advantage estimator is in the table of estimators", async () => {
  const text = await readFile(join(repository, "docs/algorithms.md"), "utf8");
  const table = text.split(/^## /m).find((part) => part.startsWith("Advantage estimators\n"))!;
  const listed = [...table.matchAll(/^\| `([\w-]+)` \|/gm)].map((match) => match[1]);
  expect(listed.toSorted()).toEqual(
    advantageEstimators
      .list()
      .map(({ id }) => id)
      .toSorted(),
  );
});
