import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CaseObservation, ExecuteRequest } from "../../sandbox/execution.ts";
import { type CodeGrade, gradeCode } from "../../sandbox/grading/grade-code.ts";
import type { CallSuite, JudgeSuite, ProgramSuite } from "../../sandbox/grading/test-suite.ts";
import type { PlainValue } from "../../sandbox/plain-value.ts";
import { returned, scriptedSandbox } from "./scripted-sandbox.ts";

const int = (value: number): PlainValue => ({ int: String(value) });
const doubles: CallSuite = {
  kind: "calls",
  language: "python",
  function: "double",
  tests: [1, 2, 3, 4, 5, 6].map((n) => ({ args: [int(n)], expected: int(2 * n), visible: n < 3 })),
};

/** The values that honest code would return for each call. */
function doubled(request: ExecuteRequest): CaseObservation[] {
  if (request.task.kind !== "calls") throw new Error("not a task of calls");
  return request.task.cases.map(({ args }, i) => returned(i, int(2 * Number((args[0] as { int: string }).int))));
}

async function gradeOf(cases: (request: ExecuteRequest) => readonly CaseObservation[], seed = 0): Promise<CodeGrade> {
  const sandbox = scriptedSandbox((request) => ({ cases: cases(request) }));
  const grade = await gradeCode({ sandbox, code: "", suite: doubles, seed });
  if (grade.infra) throw new Error("there is no grade");
  return grade;
}

describe("gradeCode", () => {
  it("passes code that returns the expected values, whatever the order", async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (seed) => {
        const grade = await gradeOf(doubled, seed);
        expect(grade).toMatchObject({ passed: true, fraction: 1, status: "ok" });
        expect(grade.tests.map(({ called }) => called)).toEqual([1, 2, 3, 4, 5, 6].map((n) => `double(${n})`));
        expect(grade.tests.map(({ got }) => got)).toEqual(["2", "4", "6", "8", "10", "12"]);
      }),
    );
  });

  it("shuffles calls by the seed and is reproducible", async () => {
    const orders = await Promise.all(
      [1, 2, 3, 4, 1].map(async (seed) => {
        const sandbox = scriptedSandbox((request) => ({ cases: doubled(request) }));
        await gradeCode({ sandbox, code: "", suite: doubles, seed });
        return JSON.stringify(sandbox.requests[0]!.task);
      }),
    );
    expect(new Set(orders).size).toBeGreaterThan(2);
    expect(orders[4]).toBe(orders[0]);
  });

  it("sends no expected value to the sandbox", async () => {
    const secret = "an expected value";
    const suites = [
      { ...doubles, tests: [{ args: [], expected: secret, visible: true }] },
      { kind: "program", language: "python", tests: [{ stdin: "", expected: secret, visible: true }] },
    ] as const;
    for (const suite of suites) {
      const sandbox = scriptedSandbox(() => ({}));
      await gradeCode({ sandbox, code: "", suite });
      expect(JSON.stringify(sandbox.requests)).not.toContain(secret);
    }
  });

  it("counts passed tests and describes failures, but hides the expected values of hidden tests", async () => {
    const grade = await gradeOf((request) =>
      doubled(request).map((observation) => {
        const { int: text } = observation.value as { int: string };
        if (text === "4") return { ...observation, value: "4" };
        if (text === "6") return { index: observation.index, outcome: "unsupported", cpuMs: 0 };
        if (text === "8") return { index: observation.index, outcome: "missing", cpuMs: 0 };
        if (text !== "10") return observation;
        const error = { type: "KeyError", message: "'a'", line: 3 };
        return { index: observation.index, outcome: "raised", error, cpuMs: 0 };
      }),
    );
    expect(grade).toMatchObject({ passed: false, fraction: 2 / 6 });
    expect(grade.tests).toEqual([
      { index: 0, passed: true, visible: true, outcome: "passed", called: "double(1)", got: "2", expected: "2" },
      { index: 1, passed: false, visible: true, outcome: "wrong", called: "double(2)", got: "'4'", expected: "4" },
      { index: 2, passed: false, visible: false, outcome: "unsupported", called: "double(3)" },
      { index: 3, passed: false, visible: false, outcome: "not-run", called: "double(4)" },
      {
        index: 4,
        passed: false,
        visible: false,
        outcome: "raised",
        called: "double(5)",
        error: { type: "KeyError", message: "'a'", line: 3 },
      },
      { index: 5, passed: true, visible: false, outcome: "passed", called: "double(6)", got: "12" },
    ]);
  });

  it.each<[string, (cases: CaseObservation[]) => unknown[]]>([
    ["a case twice", (cases) => [...cases.slice(1), cases[1]]],
    ["a case too many", (cases) => [...cases, cases[0]]],
    ["a case too few", (cases) => cases.slice(1)],
    ["no case", () => []],
    ["a case that there is not", (cases) => [...cases.slice(1), { ...cases[0], index: 6 }]],
    ["a negative case", (cases) => [...cases.slice(1), { ...cases[0], index: -1 }]],
    ["half a case", (cases) => [...cases.slice(1), { ...cases[0], index: 0.5 }]],
    ["a value that is none", (cases) => [...cases.slice(1), { ...cases[0], value: { int: 2 } }]],
    ["a value too deep", (cases) => [...cases.slice(1), { ...cases[0], value: nested(61) }]],
  ])("is not fooled by a result with %s", async (_, tamper) => {
    const grade = await gradeOf((request) => tamper(doubled(request)) as CaseObservation[]);
    expect(grade).toMatchObject({ passed: false, fraction: 0, status: "violation" });
    expect(grade.tests).toHaveLength(6);
  });

  it("fails a case that claims to have returned and has no value", async () => {
    const grade = await gradeOf((request) =>
      doubled(request).map(({ index }) => ({ index, outcome: "returned", cpuMs: 0 })),
    );
    expect(grade).toMatchObject({ passed: false, fraction: 0, status: "ok" });
  });

  it.each([
    "load_error",
    "timeout_cpu",
    "timeout_wall",
    "memory",
    "output_limit",
    "result_limit",
    "exited",
    "signal",
    "violation",
  ] as const)("scores %s as a failure, even if every case was right", async (status) => {
    const sandbox = scriptedSandbox((request) => ({ status, cases: doubled(request) }));
    const grade = await gradeCode({ sandbox, code: "", suite: doubles });
    expect(grade).toMatchObject({ infra: false, passed: false, status });
  });

  it.each(["infra_error", "aborted"] as const)("returns no grade and no fraction after %s", async (status) => {
    const sandbox = scriptedSandbox(() => ({ status, error: { type: "x", message: "the worker died" } }));
    const grade = await gradeCode({ sandbox, code: "", suite: doubles });
    expect(grade).toMatchObject({ infra: true, status: "infra_error", error: { message: /the worker died/ } });
    expect(grade).not.toHaveProperty("fraction");
    expect(grade).not.toHaveProperty("passed");
  });

  it("rejects with the signal's reason, before and after the start", async () => {
    const controller = new AbortController();
    const sandbox = scriptedSandbox(() => {
      controller.abort(new Error("enough"));
      return { status: "aborted" };
    });
    await expect(gradeCode({ sandbox, code: "", suite: doubles, signal: controller.signal })).rejects.toThrow("enough");
    await expect(gradeCode({ sandbox, code: "", suite: doubles, signal: controller.signal })).rejects.toThrow("enough");
    expect(sandbox.requests).toHaveLength(1);
  });

  it("rejects a suite without tests", async () => {
    const grading = gradeCode({ sandbox: scriptedSandbox(() => ({})), code: "", suite: { ...doubles, tests: [] } });
    await expect(grading).rejects.toMatchObject({ code: "data.malformed" });
  });

  it("compares the output of programs and ignores white space at the ends", async () => {
    const suite: ProgramSuite = {
      kind: "program",
      language: "python",
      tests: [
        { stdin: "1\n", expected: "a\nb\n" },
        { stdin: "2\n", expected: "a b" },
      ],
    };
    const sandbox = scriptedSandbox(({ task }) => {
      if (task.kind !== "program") throw new Error("not a program");
      return { cases: task.stdin.map((_, i) => returned(i, "a  \r\nb\n\n")) };
    });
    const grade = await gradeCode({ sandbox, code: "", suite });
    expect(grade).toMatchObject({ passed: false, fraction: 0.5, tests: [{ passed: true }, { passed: false }] });
  });

  it("keeps the judge's tests in order and hides the hidden ones", async () => {
    const suite: JudgeSuite = {
      kind: "judge",
      language: "python",
      setup: "import math",
      exports: ["f"],
      tests: Array.from({ length: 10 }, (_, i) => ({ code: `assert f(${i}) == 'secret'`, visible: i === 0 })),
    };
    const error = { type: "AssertionError", message: "not 'secret'" };
    const cases = suite.tests.map((_, index): CaseObservation => ({ index, outcome: "raised", error, cpuMs: 0 }));
    const sandbox = scriptedSandbox(() => ({ cases }));
    const grade = await gradeCode({ sandbox, code: "", suite, seed: 5 });
    expect(sandbox.requests[0]!.task).toEqual({
      kind: "judge",
      setup: "import math",
      exports: ["f"],
      tests: suite.tests.map(({ code }) => code),
    });
    if (grade.infra) throw new Error("there is no grade");
    expect(grade).toMatchObject({ passed: false, fraction: 0 });
    expect(grade.tests[0]).toMatchObject({ called: "assert f(0) == 'secret'", error });
    expect(JSON.stringify(grade.tests.slice(1))).not.toContain("secret");
    expect(grade.tests[1]).toMatchObject({ outcome: "raised", error: { type: "AssertionError" } });
  });

  it("reports why nothing was run", async () => {
    const error = { type: "SyntaxError", message: "invalid syntax", line: 1 };
    const sandbox = scriptedSandbox(() => ({
      status: "load_error",
      error,
      cases: doubles.tests.map((_, index) => ({ index, outcome: "missing", cpuMs: 0 })),
    }));
    expect(await gradeCode({ sandbox, code: "(", suite: doubles })).toMatchObject({
      fraction: 0,
      tests: doubles.tests.map(() => ({ outcome: "not-run", error })),
    });
  });
});

function nested(depth: number): PlainValue {
  let value: PlainValue = { list: [] };
  for (let i = 1; i < depth; i++) value = { list: [value] };
  return value;
}
