import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { classEvalProblem } from "../../../../environments/class-completion/class-eval.ts";
import { multiplEProblem } from "../../../../environments/code/multipl-e.ts";
import { readBenchmarkRows } from "../../../../environments/shared/code-benchmarks/benchmark-row.ts";
import type { CodeProblem } from "../../../../environments/shared/code-benchmarks/code-problem.ts";
import { humanEvalProblem } from "../../../../environments/shared/code-benchmarks/human-eval.ts";
import { mbppProblem, sanitizedMbppProblem } from "../../../../environments/shared/code-benchmarks/mbpp.ts";
import { deduplicated } from "../../../../sandbox/grading/deduplicated.ts";
import { gradeCode } from "../../../../sandbox/grading/grade-code.ts";
import { createPyodideSandbox } from "../../../../sandbox/pyodide/create-pyodide-sandbox.ts";
import type { Sandbox } from "../../../../sandbox/sandbox.ts";
import { benchmarkFile, noBenchmarkData } from "../../../sandbox/benchmark-data.ts";
import { temporaryFolder } from "../../../temporary-folder.ts";
import { sampleOf } from "../../../tier.ts";

async function problemsOf(name: string, problemOf: (row: unknown) => CodeProblem): Promise<CodeProblem[]> {
  return (await readBenchmarkRows(benchmarkFile(name))).map(problemOf);
}

describe.skipIf(noBenchmarkData)("every published problem is parsed", () => {
  it.each<[string, (row: unknown) => CodeProblem, { calls: number; judge: number; tests: number }]>([
    ["HumanEval.jsonl.gz", humanEvalProblem, { calls: 155, judge: 9, tests: 1_133 }],
    ["coop-humaneval.json", humanEvalProblem, { calls: 82, judge: 0, tests: 419 }],
    ["mbpp.jsonl", mbppProblem, { calls: 968, judge: 6, tests: 2_922 }],
    ["mbpp-sanitized-openmlrl.json", sanitizedMbppProblem, { calls: 254, judge: 3, tests: 776 }],
    ["humaneval-js.jsonl", multiplEProblem, { calls: 161, judge: 0, tests: 1_130 }],
    ["humaneval-ts.jsonl", multiplEProblem, { calls: 159, judge: 0, tests: 1_115 }],
    ["ClassEval_data.json", classEvalProblem, { calls: 0, judge: 100, tests: 2_196 }],
  ])("%s", async (name, problemOf, expected) => {
    const problems = await problemsOf(name, problemOf);
    const count = (kind: string): number => problems.filter(({ suite }) => suite.kind === kind).length;
    const tests = problems.reduce((sum, { suite }) => sum + suite.tests.length, 0);
    expect({ calls: count("calls"), judge: count("judge"), tests }).toEqual(expected);
    expect(new Set(problems.map(({ id }) => id)).size).toBe(problems.length);
    for (const { prompt, entryPoint, suite } of problems) {
      expect(prompt).not.toBe("");
      if (suite.kind === "calls") expect(suite.function).toBe(entryPoint);
      if (suite.kind === "judge") expect(suite.exports).toContain(entryPoint);
    }
  });
});

describe.skipIf(noBenchmarkData)("the benchmarks' own solutions", () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = deduplicated(await createPyodideSandbox({ workers: 2 }));
  });
  afterAll(async () => sandbox?.[Symbol.asyncDispose]());

  /** Problems whose changed solution does not pass. The processor time is in milliseconds. */
  const failing = async (
    problems: readonly CodeProblem[],
    { cpuMs, change }: { readonly cpuMs: number; readonly change: (code: string) => string },
  ): Promise<string[]> => {
    const ids: string[] = [];
    const limits = { cpuMs, wallMs: 60_000 };
    await Promise.all(
      problems.map(async ({ id, suite, solution }) => {
        const grade = await gradeCode({ sandbox, code: change(solution!), suite: { ...suite, limits } });
        if (grade.infra) throw new Error(`${id}: ${grade.error.message}`);
        if (!grade.passed) ids.push(id);
      }),
    );
    return ids.sort();
  };
  const unchanged = { cpuMs: 20_000, change: (code: string): string => code };

  it("of HumanEval pass, and none passes if its function returns nothing", async () => {
    const problems = sampleOf(await problemsOf("HumanEval.jsonl.gz", humanEvalProblem), 2);
    expect(await failing(problems, unchanged)).toEqual([]);
    const silent = (code: string): string => code.replace(/^( *)return\b.*(?:\n(?:\1[ )\]}].*)?)*/gm, "$1return\n");
    expect(await failing(problems, { cpuMs: 500, change: silent })).toHaveLength(problems.length);
  });

  it("of MBPP pass", async () => {
    expect(await failing(sampleOf(await problemsOf("mbpp.jsonl", mbppProblem), 5), unchanged)).toEqual([]);
  });
});

describe("rows", () => {
  const row = {
    task_id: "HumanEval/x",
    prompt: "import math\n\ndef helper(x):\n    return x\n\ndef f(x):\n    '''doc'''\n",
    entry_point: "f",
    test: "def check(candidate):\n    assert candidate(1) == helper(1)\n",
  };

  it("keep the helpers of their prompt for the judge, but not the requested function", () => {
    const { suite, solution } = humanEvalProblem({ ...row, canonical_solution: "    return x\n" });
    expect(solution).toBe(`${row.prompt}    return x\n`);
    expect(suite).toMatchObject({
      kind: "judge",
      setup: "import math\n\ndef helper(x):\n    return x\n\n\ncandidate = f",
      exports: ["f"],
    });
  });

  it("that lack a field are rejected, with its name", () => {
    const wrong: [string, (row: unknown) => CodeProblem, unknown][] = [
      ["entry_point", humanEvalProblem, { ...row, entry_point: undefined }],
      ["test_list", mbppProblem, { task_id: 1, text: "", code: "", test_setup_code: "", test_list: [] }],
      ["prompt", sanitizedMbppProblem, { task_id: "", test: "", entry_point: "" }],
      ["language", multiplEProblem, { name: "HumanEval_1_f", language: "rs", prompt: "", tests: "" }],
      ["class_name", classEvalProblem, {}],
    ];
    for (const [field, problemOf, bad] of wrong) {
      expect(() => problemOf(bad)).toThrow(expect.objectContaining({ code: "data.malformed" }));
      expect(() => problemOf(bad)).toThrow(field);
    }
    expect(() => humanEvalProblem(null)).toThrow("HumanEval");
  });

  it("whose tests call nothing are rejected", () => {
    const mbpp = { task_id: 1, text: "t", code: "def f(): pass", test_setup_code: "", test_list: ["assert True"] };
    expect(() => mbppProblem(mbpp)).toThrow(expect.objectContaining({ code: "data.malformed" }));
    const classes = {
      task_id: "x",
      skeleton: "",
      test: "x = 1",
      solution_code: "",
      import_statement: [],
      class_name: "C",
    };
    expect(() => classEvalProblem(classes)).toThrow(expect.objectContaining({ code: "data.malformed" }));
  });

  it("of CoMLRL's MBPP are repaired if the candidate's name replaced another", () => {
    const problem = (test: string): CodeProblem =>
      sanitizedMbppProblem({ task_id: "MBPP/0", prompt: "def f(x):\n  '''x'''\n", entry_point: "f", test });
    expect(
      problem("def check(candidate):\n  assert math.candidate(candidate(1), 2.5, rel_tol=0.001)").suite,
    ).toMatchObject({
      kind: "calls",
      tests: [{ expected: { float: "2.5" }, comparator: { kind: "close", relative: 0.001, absolute: 0 } }],
    });
    expect(
      problem("def check(candidate):\n  assert candidate(candidate([1])) == candidate([1, 2])").suite,
    ).toMatchObject({ kind: "judge", tests: [{ code: "assert set(candidate([1])) == set([1, 2])" }] });
    expect(problem("def check(candidate):\n  assert candidate('candidate(candidate(') == 1").suite).toMatchObject({
      tests: [{ args: ["candidate(candidate("] }],
    });
  });
});

describe("readBenchmarkRows", () => {
  let folder: string;
  beforeAll(async () => {
    folder = temporaryFolder();
  });

  it("reads lists and lines, compressed or not", async () => {
    const files: [string, string | Buffer][] = [
      ["a.json", '[{"a":1}, {"a":2}]'],
      ["a.jsonl", '{"a":1}\n\n{"a":2}\r\n'],
      ["a.jsonl.gz", gzipSync('{"a":1}\n{"a":2}')],
    ];
    for (const [name, content] of files) {
      await writeFile(join(folder, name), content);
      expect(await readBenchmarkRows(join(folder, name))).toEqual([{ a: 1 }, { a: 2 }]);
    }
  });

  it("rejects a missing file, and a file in neither format", async () => {
    await expect(readBenchmarkRows(join(folder, "none.json"))).rejects.toMatchObject({ code: "data.not-found" });
    const files: [string, string][] = [
      ["object.json", "{}"],
      ["half.jsonl", '{"a":1}\n{"a"'],
      ["plain.jsonl.gz", "{}"],
    ];
    for (const [name, content] of files) {
      await writeFile(join(folder, name), content);
      await expect(readBenchmarkRows(join(folder, name)), name).rejects.toMatchObject({ code: "data.malformed" });
    }
  });
});
