import { describe, expect, it } from "vitest";
import { multiplEProblem } from "../../../../environments/code/multipl-e.ts";
import { readBenchmarkRows } from "../../../../environments/shared/code-benchmarks/benchmark-row.ts";
import type { CodeProblem } from "../../../../environments/shared/code-benchmarks/code-problem.ts";
import { humanEvalProblem } from "../../../../environments/shared/code-benchmarks/human-eval.ts";
import { mbppProblem, sanitizedMbppProblem } from "../../../../environments/shared/code-benchmarks/mbpp.ts";
import { codeFeedback, singleReport } from "../../../../environments/shared/code-turns/code-feedback.ts";
import type { CodeTurnOptions } from "../../../../environments/shared/code-turns/turn-options.ts";
import { visibleRun } from "../../../../environments/shared/code-turns/visible-run.ts";
import { showAll, showFirstFifth, visibleTests } from "../../../../environments/shared/code-turns/visible-tests.ts";
import { gradeCode } from "../../../../sandbox/grading/grade-code.ts";
import type { TestSuite } from "../../../../sandbox/grading/test-suite.ts";
import { benchmarkFile, noBenchmarkData } from "../../../sandbox/benchmark-data.ts";
import { returned, scriptedSandbox } from "../../../sandbox/scripted-sandbox.ts";

type Way = "returned" | "raised" | "not loaded";

/** Code that shows everything that it was called with in its process: in return values, errors or load errors. */
const teller = (way: Way) =>
  scriptedSandbox(({ task }) => {
    const asked = task.kind === "judge" ? task.tests.map((code) => code) : task.kind === "calls" ? task.cases : [];
    const all = JSON.stringify(asked);
    if (way === "not loaded") {
      const cases = asked.map((_, index) => ({ index, outcome: "missing", cpuMs: 0 }) as const);
      return { status: "load_error", cases, error: { type: "Told", message: all } };
    }
    return {
      cases: asked.map((_, index) =>
        way === "returned"
          ? returned(index, task.kind === "calls" ? { list: task.cases.flatMap(({ args }) => args) } : null)
          : { index, outcome: "raised", error: { type: "Told", message: all }, cpuMs: 0 },
      ),
    };
  });

/** Texts that identify a test. */
function secretsOf(suite: TestSuite): string[] {
  const shown = visibleTests(suite).map(({ text }) => text);
  const hidden = visibleTests(showAll(suite)).filter(({ index }) => suite.tests[index]!.visible !== true);
  return hidden
    .flatMap(({ text }) => {
      const inner = /\((.*)\) ={2,3} /.exec(text)?.[1];
      return inner !== undefined && inner.length > 7 ? [text, inner] : [text];
    })
    .filter((secret) => !shown.some((text) => text.includes(secret)));
}

async function feedbackOn(
  { suite, entryPoint }: CodeProblem,
  way: Way,
  options: Pick<CodeTurnOptions, "mode" | "sandboxSlice">,
): Promise<string> {
  const sandbox = teller(way);
  const grade = await gradeCode({ sandbox, code: "", suite });
  if (grade.infra) throw new Error("a scripted sandbox does not fail");
  const visible = await visibleRun({ sandbox, code: "", suite, name: entryPoint, grade });
  const own = singleReport(visible, { name: entryPoint, linesBefore: 0 });
  return codeFeedback(options, { passed: grade.passed, visible, ...own });
}

describe.skipIf(noBenchmarkData)("feedback never has the text of a hidden test, whatever the code does", () => {
  it.each<[string, (row: unknown) => CodeProblem]>([
    ["HumanEval.jsonl.gz", humanEvalProblem],
    ["coop-humaneval.json", humanEvalProblem],
    ["mbpp.jsonl", mbppProblem],
    ["mbpp-sanitized-openmlrl.json", sanitizedMbppProblem],
    ["humaneval-js.jsonl", multiplEProblem],
    ["humaneval-ts.jsonl", multiplEProblem],
  ])("%s", async (name, read) => {
    let secrets = 0;
    let shown = 0;
    for (const row of await readBenchmarkRows(benchmarkFile(name))) {
      const problem = read(row);
      const hiding = { ...problem, suite: showFirstFifth(problem.suite) };
      const hidden = secretsOf(hiding.suite);
      secrets += hidden.length;
      for (const mode of ["level_feedback", "level_passed", "passed"] as const) {
        for (const sandboxSlice of [1, -1, "all"] as const) {
          for (const way of ["returned", "raised", "not loaded"] as const) {
            const feedback = await feedbackOn(hiding, way, { mode, sandboxSlice });
            for (const secret of hidden) {
              if (feedback.includes(secret)) throw new Error(`${problem.id}, ${mode}: ${secret} in ${feedback}`);
            }
            if (feedback.includes("Failed: ")) shown++;
          }
        }
      }
    }
    expect(secrets).toBeGreaterThan(100);
    expect(shown).toBeGreaterThan(100);
  });
});

describe("feedback", () => {
  const suite: TestSuite = {
    kind: "calls",
    language: "python",
    function: "f",
    tests: [1, 2, 3].map((n) => ({ args: [{ int: `${n}` }], expected: { int: `${n}` }, visible: n < 3 })),
  };
  const problem: CodeProblem = { id: "f", prompt: "", entryPoint: "f", suite };
  const level = { mode: "level_feedback", sandboxSlice: "all" } as const;

  it("shows the tests of sandboxSlice", async () => {
    const failures = async (sandboxSlice: CodeTurnOptions["sandboxSlice"]) =>
      [...(await feedbackOn(problem, "returned", { ...level, sandboxSlice })).matchAll(/Failed: (f\(\d\))/g)].map(
        ([, call]) => call,
      );
    expect(await failures(1)).toEqual(["f(1)"]);
    expect(await failures(-1)).toEqual(["f(2)"]);
    for (const all of [0, null, "all", 9, -9] as const) expect(await failures(all)).toEqual(["f(1)", "f(2)"]);
  });

  it("shows all tests with shareTests", async () => {
    const shared = { ...problem, suite: showAll(suite) };
    expect(await feedbackOn(shared, "returned", level)).toContain("Visible tests: 0 of 3");
    expect(await feedbackOn(shared, "returned", level)).not.toContain("hidden");
  });

  it("does not mention tests if the sandbox failed only on them", async () => {
    let calls = 0;
    const sandbox = scriptedSandbox(() => (calls++ === 0 ? {} : { status: "infra_error" }));
    const grade = await gradeCode({ sandbox, code: "", suite });
    if (grade.infra) throw new Error("infra");
    const visible = await visibleRun({ sandbox, code: "", suite, name: "f", grade });
    expect(visible).toBeUndefined();
    const feedback = codeFeedback(level, { passed: grade.passed, visible, syntaxProblem: null, definitions: [] });
    expect(feedback).toContain("Syntax: ok");
    expect(feedback).not.toContain("Visible tests");
  });

  it("does not report that all passed to an agent whose own definition is missing", async () => {
    const identity = scriptedSandbox(({ task }) => {
      if (task.kind !== "calls") throw new Error(task.kind);
      return { cases: task.cases.map(({ args }, index) => returned(index, args[0]!)) };
    });
    const grade = await gradeCode({ sandbox: identity, code: "", suite });
    if (grade.infra) throw new Error("infra");
    const tell = (found: boolean): string =>
      codeFeedback(
        { ...level, mode: "passed" },
        {
          passed: grade.passed,
          visible: { verdicts: grade.tests },
          syntaxProblem: null,
          definitions: [{ name: "aux", found }],
        },
      );
    expect(tell(true)).toBe("Every test passed.");
    expect(tell(false)).toBe("Not every level passed.");
  });

  it("counts the lines of errors from the start of the agent's own code", async () => {
    const visible = { verdicts: [], loadError: { type: "NameError", message: "no x", line: 7 } };
    const of = (linesBefore: number, mode: CodeTurnOptions["mode"] = "level_feedback") =>
      codeFeedback(
        { ...level, mode },
        { passed: false, visible, ...singleReport(visible, { name: "f", linesBefore }) },
      );
    expect(of(5)).toContain("Definition of f: not ok (NameError: no x, line 2)");
    expect(of(7)).toContain("not ok (NameError: no x)");
    expect(of(7, "level_passed")).not.toContain("NameError");
  });
});

describe("showFirstFifth", () => {
  it.each([
    [1, 0],
    [2, 1],
    [5, 1],
    [6, 2],
    [11, 3],
  ])("of %i tests shows %i, the first ones", (count, shown) => {
    const tests = Array.from({ length: count }, () => ({ args: [true], expected: true }));
    const suite: TestSuite = { kind: "calls", language: "python", function: "f", tests };
    const visible = showFirstFifth(suite).tests.map((test) => test.visible);
    expect(visible).toEqual(Array.from({ length: count }, (_, i) => i < shown));
  });
});
