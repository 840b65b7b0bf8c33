import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createPyodideSandbox } from "../../sandbox/pyodide/create-pyodide-sandbox.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { benchmarkFile, noBenchmarkData } from "../sandbox/benchmark-data.ts";

let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await createPyodideSandbox({ workers: 2, spares: 0 });
});
afterAll(() => sandbox[Symbol.asyncDispose]());

const readLines = <T>(text: string): T[] =>
  text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as T);

interface Judged {
  readonly id: string;
  readonly code: string;
  readonly setup: string;
  readonly tests: readonly string[];
  readonly exports: readonly string[];
}

/** Returns the problems of a benchmark that do not pass. */
async function failing(problems: readonly Judged[]): Promise<string[]> {
  const results = await Promise.all(
    problems.map(({ code, ...task }) =>
      sandbox.execute({
        language: "python",
        files: { "main.py": code },
        entry: "main.py",
        task: { kind: "judge", ...task },
        limits: { cpuMs: 20_000, wallMs: 300_000 },
      }),
    ),
  );
  return problems
    .filter((_, i) => results[i]!.status !== "ok" || results[i]!.cases.some(({ outcome }) => outcome !== "returned"))
    .map(({ id }) => id);
}

interface HumanEvalProblem {
  readonly task_id: string;
  readonly prompt: string;
  readonly entry_point: string;
  readonly canonical_solution: string;
  readonly test: string;
}

test.skipIf(noBenchmarkData !== undefined)(
  `every canonical solution of HumanEval passes, and the next problem's does not ${noBenchmarkData ?? ""}`,
  async () => {
    const text = gunzipSync(readFileSync(benchmarkFile("HumanEval.jsonl.gz"))).toString();
    const rows = readLines<HumanEvalProblem>(text);
    const judged = (problem: HumanEvalProblem, code: string): Judged => ({
      id: problem.task_id,
      code,
      setup: problem.prompt,
      tests: [problem.test, `check(${problem.entry_point})`],
      exports: [problem.entry_point],
    });
    expect(rows).toHaveLength(164);
    expect(await failing(rows.map((row) => judged(row, row.prompt + row.canonical_solution)))).toEqual([]);
    const wrong = rows.map((row, i) => {
      const other = rows[(i + 1) % rows.length]!;
      const rename = `\n${row.entry_point} = ${other.entry_point}\n`;
      return judged(row, other.prompt + other.canonical_solution + rename);
    });
    expect(await failing(wrong)).toHaveLength(164);
  },
);

interface MbppProblem {
  readonly task_id: number;
  readonly code: string;
  readonly test_setup_code: string;
  readonly test_list: readonly string[];
}

test.skipIf(noBenchmarkData !== undefined)(`every reference of MBPP passes ${noBenchmarkData ?? ""}`, async () => {
  const rows = readLines<MbppProblem>(readFileSync(benchmarkFile("mbpp.jsonl"), "utf8"));
  expect(rows).toHaveLength(974);
  const judged = rows.map(({ task_id, code, test_setup_code, test_list }): Judged => {
    const used = [test_setup_code, ...test_list].join("\n");
    const names = [...code.matchAll(/^(?:def|class)\s+(\w+)/gm)].map(([, name]) => name!);
    // The tests expect to share a namespace with the code, whose imports they use.
    const imports = code.match(/^(?:import|from) .*$/gm) ?? [];
    return {
      id: String(task_id),
      code,
      setup: [...imports, test_setup_code].join("\n"),
      tests: test_list,
      exports: [...new Set(names)].filter((name) => used.includes(name)),
    };
  });
  expect(await failing(judged)).toEqual([]);
});
