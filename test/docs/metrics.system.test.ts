import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { repository } from "../examples/run-program.ts";
import { metricsCases, writtenMetrics } from "./metrics-cases.ts";

/** The values of the document's placeholders in the trainings of this test. */
const placeholders: Readonly<Record<string, string>> = {
  NAME: "(correct|form|level)",
  AGENT: "(left|right)",
  ENVIRONMENT: "(letters|components)",
  GROUP: "[a-d]",
  N: "\\d+",
};

const document = await readFile(join(repository, "docs/metrics.md"), "utf8");
const rows = document.split("\n").filter((line) => /^\| `/.test(line));

/** The metrics of the document. A row may have several. */
const documented = rows
  .flatMap((row) => [...row.split("|")[1]!.matchAll(/`([^`]+)`/g)].map((match) => match[1]!))
  .map((name) => ({
    name,
    pattern: new RegExp(`^${name.replaceAll(/[A-Z]+/g, (word) => placeholders[word] ?? word)}$`),
  }));

/** The metrics that the trainings wrote, each with the name of a training that wrote it. */
const written = new Map<string, string>();
beforeAll(async () => {
  for (const metricsCase of metricsCases) {
    for (const metric of await writtenMetrics(metricsCase)) written.set(metric, metricsCase.name);
  }
  // The trainings here write single letters, and no tool calls. test/trainers/tool-metrics.test.ts has these metrics.
  for (const metric of ["tools/calls-mean", "tools/malformed"]) written.set(metric, "tools");
});

function isDocumented(metric: string): boolean {
  if (documented.some(({ pattern }) => pattern.test(metric))) return true;
  // Evaluations and agents with weights of their own write the metrics of a run under a prefix.
  const shorter = metric.replace(/^evaluation\/|^agents\/[^/]+\//, "");
  return shorter !== metric && isDocumented(shorter);
}

it("every metric that a training writes has a row", () => {
  expect(written.size).toBeGreaterThan(100);
  expect([...written].filter(([metric]) => !isDocumented(metric))).toEqual([]);
});

it("every row has a metric that a training writes", () => {
  const metrics = [...written.keys()];
  expect(documented.filter(({ pattern }) => !metrics.some((metric) => pattern.test(metric)))).toEqual([]);
});

it("no metric has two rows", () => {
  const names = documented.map(({ name }) => name);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

it("every row says what the metric measures and what is normal", () => {
  const cells = rows.map((row) =>
    row
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  expect(cells.filter((row) => row.length !== 5 || row[1] === "" || row[3] === "")).toEqual([]);
});
