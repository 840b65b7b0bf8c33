import { expect, it } from "vitest";
import { bugFixReward } from "../../../environments/bug-fix/bug-fix-reward.ts";
import { type CodeGrade, gradeCode } from "../../../sandbox/grading/grade-code.ts";
import type { TestSuite } from "../../../sandbox/index.ts";
import { returned, scriptedSandbox } from "../../sandbox/scripted-sandbox.ts";

const suite: TestSuite = {
  kind: "calls",
  language: "python",
  function: "f",
  tests: [0, 1, 2, 3].map((n) => ({ args: [{ int: `${n}` }], expected: { int: `${n}` } })),
};

/** The grade of a program that passes only these tests. */
async function answering(right: readonly number[]): Promise<CodeGrade> {
  const sandbox = scriptedSandbox(({ task }) => {
    if (task.kind !== "calls") throw new Error(task.kind);
    const answer = (n: string) => (right.includes(Number(n)) ? { int: n } : null);
    return { cases: task.cases.map(({ args }, index) => returned(index, answer((args[0] as { int: string }).int))) };
  });
  const grade = await gradeCode({ sandbox, code: "", suite });
  if (grade.infra) throw new Error("a scripted sandbox does not fail");
  return grade;
}

const before = await answering([0, 1]);
const realChange = { share: 0.1 } as Parameters<typeof bugFixReward>[0]["realChange"];
const tests = async (right: readonly number[]): Promise<number> =>
  bugFixReward({ before, after: await answering(right), change: realChange, realChange }).tests!;

it("rewards the repaired share times the share that still passes", async () => {
  expect(await tests([0, 1])).toBe(0);
  expect(await tests([0, 1, 2])).toBeCloseTo(0.45);
  expect(await tests([0, 2, 3])).toBeCloseTo(0.45);
  expect(await tests([2, 3])).toBe(0);
  expect(await tests([0, 1, 2, 3])).toBeCloseTo(0.9);
});

it("rewards a larger change less, but at least a fifth, and gives nothing if a test fails", async () => {
  const size = async (share: number | undefined, right: readonly number[]): Promise<number> => {
    const change = share === undefined ? undefined : ({ share } as typeof realChange);
    return bugFixReward({ before, after: await answering(right), change, realChange }).size!;
  };
  expect(await size(0.05, [0, 1, 2, 3])).toBeCloseTo(0.1);
  expect(await size(0.3, [0, 1, 2, 3])).toBeCloseTo(0.08);
  expect(await size(1, [0, 1, 2, 3])).toBeCloseTo(0.02);
  expect(await size(undefined, [0, 1, 2, 3])).toBeCloseTo(0.02);
  expect(await size(0.1, [0, 1, 2])).toBe(0);
});
