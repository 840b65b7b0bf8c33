import { expect, it } from "vitest";
import { evalProgressLine, showEvaluation } from "../../cli/eval-view.ts";
import { scriptedPolicy } from "../../src/core/policy/scripted-policy.ts";
import { evaluate } from "../../src/evaluation/evaluate.ts";
import { answers, temporaryFolder } from "../evaluation/answer-environment.ts";

const progress = {
  name: "gsm8k",
  total: 1_319,
  done: 412,
  before: 12,
  scored: 410,
  correct: 164,
  rewards: 164,
  unscored: 2,
  hasCorrect: true,
};

it("a line of progress has the score so far and the remaining time, computed from this process's episodes", () => {
  expect(evalProgressLine(progress, 40_000)).toBe(
    "gsm8k: 412 of 1,319 episodes, 31%, accuracy 40.0%, 2 unscored, eta 1m 31s",
  );
  expect(evalProgressLine({ ...progress, hasCorrect: false, unscored: 0 }, 40_000)).toContain("reward 0.4, eta");
  expect(evalProgressLine({ ...progress, done: 12, scored: 0, unscored: 0 }, 40_000)).toBe(
    "gsm8k: 12 of 1,319 episodes, 0%",
  );
});

it("on a terminal the line is updated in place and removed at the end, and names cannot control the terminal", async () => {
  let written = "";
  const write = (text: string): boolean => {
    written += text;
    return true;
  };
  const stream = { isTTY: true, columns: 80, rows: 24, write };
  const environment = answers([{ n: 0 }, { n: 1 }]);
  const events = evaluate({
    environment,
    name: "evil\u001b[2J",
    policies: scriptedPolicy(["1"]),
    folder: await temporaryFolder(),
  });
  const summary = await showEvaluation(events, stream);
  expect(summary?.counts.correct).toBe(2);
  expect(written).toContain("evil\\x1b[2J: 0 of 2 episodes");
  expect(written).not.toContain("\u001b[2J");
  // The last output is empty.
  expect(written.endsWith("\u001B[1A\u001B[J")).toBe(true);
});
