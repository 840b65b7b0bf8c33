import { describe, expect, it } from "vitest";
import { turnInfo } from "../../../../environments/shared/code-turns/turn-info.ts";
import { gradeCode } from "../../../../sandbox/grading/grade-code.ts";
import type { CallSuite } from "../../../../sandbox/grading/test-suite.ts";
import { returned, scriptedSandbox } from "../../../sandbox/scripted-sandbox.ts";

/** Three tests, the first of which is visible. Each expects its argument. */
const suite: CallSuite = {
  language: "python",
  kind: "calls",
  function: "same",
  tests: ["1", "2", "3"].map((value) => ({ args: [value], expected: value, visible: value === "1" })),
};

/** The info on code that returns these values. */
async function infoOn(answers: Readonly<Record<string, string>>, components?: Readonly<Record<string, number>>) {
  const sandbox = scriptedSandbox(({ task }) => ({
    cases:
      task.kind === "calls"
        ? task.cases.map(({ args }, index) => returned(index, answers[args[0] as string] ?? "wrong"))
        : [],
  }));
  const grade = await gradeCode({ sandbox, code: "", suite });
  if (grade.infra) throw new Error("a scripted sandbox does not fail");
  return turnInfo({ turn: 1, grade, sandbox: "scripted", ...(components === undefined ? {} : { components }) });
}

describe("turnInfo", () => {
  it("reports one level each for syntax, definition, a hidden test and every test", async () => {
    expect((await infoOn({ 1: "1", 2: "2", 3: "3" })).metrics).toEqual({
      level: 4,
      syntax: true,
      definition: true,
      tests: 1,
      passed: true,
    });
    expect((await infoOn({ 1: "1", 3: "3" })).metrics).toMatchObject({ level: 3, tests: 0.5, passed: false });
    // The visible test alone is no level, because its answer can be copied.
    expect((await infoOn({ 1: "1" })).metrics).toMatchObject({ level: 2, tests: 0 });
  });

  it("reports the reward of the code if its components are known, and the turn", async () => {
    const info = await infoOn({}, { syntax: 0.25, tests: 0.5 });
    expect(info).toMatchObject({ turn: 1, passed: false, sandbox: "scripted", metrics: { reward: 0.75 } });
    expect((await infoOn({})).metrics).not.toHaveProperty("reward");
  });
});
