import { describe, expect, it } from "vitest";
import { environmentGrader } from "../../cli/environment-grader.ts";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { unscored } from "../../src/contract/reward.ts";
import { defineEnvironment } from "../../src/core/environment/define-environment.ts";
import { EnvironmentPool } from "../../src/core/rollout/environment-pool.ts";
import { withPolicies } from "../../src/core/wrappers/with-policies.ts";
import { compareRuns } from "../../src/evaluation/compare.ts";
import { readManifest, readSummary } from "../../src/evaluation/log/read-log.ts";
import { rescore } from "../../src/evaluation/rescore.ts";
import { type AnswerTask, evaluated, temporaryFolder } from "./answer-environment.ts";

/** The answer "right" is correct, whatever its reward. There are two turns, and both can be correct. */
function stating(worth: (text: string) => number): EnvironmentDefinition<AnswerTask> {
  return defineEnvironment<AnswerTask>({
    id: "stating",
    maxTurns: 2,
    statesCorrect: true,
    rewardRange: [-10, 10],
    tasks: [{ n: 0 }, { n: 1 }, { n: 2 }],
    reset: ({ task }) => `question ${task.n}`,
    step: ({ text, turn }) => {
      if (text === "unscored") return { reward: unscored("nobody looked"), correct: true };
      if (text === "again" && turn === 0) return { reply: "again", correct: true };
      return { reward: worth(text), correct: text === "right" };
    },
  });
}

const table = [
  ["right", "wrong"],
  ["wrong", "wrong"],
  ["right", "right"],
];
const low = stating((text) => (text === "right" ? -10 : 9));
const high = stating((text) => (text === "right" ? 10 : -10));

describe("an environment that states what is right", () => {
  it("decides accuracy and pass@k, independent of rewards", async () => {
    const summaries = [];
    for (const environment of [low, high]) {
      const folder = await temporaryFolder();
      const summary = await evaluated(table, { folder, environment, k: [1, 2] });
      expect((await readManifest(folder)).correct).toEqual({ stated: true });
      summaries.push(summary);
    }
    const [one, other] = summaries;
    expect(one!.metrics.reward!.value).not.toBe(other!.metrics.reward!.value);
    for (const name of ["accuracy", "pass@1", "pass@2", "pass^2"]) {
      expect(one!.metrics[name]).toEqual(other!.metrics[name]);
    }
    expect(one!.metrics.accuracy!.value).toBeCloseTo(1 / 2, 12);
    expect(one!.metrics["pass@2"]!.value).toBeCloseTo(2 / 3, 12);
  });

  it("counts its last statement, and ignores unscored episodes", async () => {
    const answers = [["again"], ["unscored"], ["right"]];
    const summary = await evaluated(answers, { folder: await temporaryFolder(), environment: low });
    expect(summary.counts).toMatchObject({ scored: 2, correct: 1 });
  });

  it("is compared and rescored by correctness, not by rewards", async () => {
    const [first, second] = [await temporaryFolder(), await temporaryFolder()];
    await evaluated(table, { folder: first, environment: low });
    await using pool = new EnvironmentPool(high);
    const manifest = { ...(await readManifest(first)), rescoredFrom: first };
    await Array.fromAsync(rescore({ from: first, folder: second, manifest, grade: environmentGrader(pool) }));
    expect((await readSummary(second))!.metrics.accuracy).toEqual((await readSummary(first))!.metrics.accuracy);
    const { metrics } = await compareRuns(first, second);
    expect(metrics.accuracy).toMatchObject({ difference: 0, ties: 3 });
    expect(metrics.reward!.difference).not.toBe(0);
  });

  it("states it through the wrapper withPolicies", async () => {
    const environment = withPolicies(low, {});
    expect(environment.spec.statesCorrect).toBe(true);
    const summary = await evaluated(table, { folder: await temporaryFolder(), environment: environment as typeof low });
    expect(summary.metrics.accuracy!.value).toBeCloseTo(1 / 2, 12);
  });

  it("is rejected if its spec does not have statesCorrect", async () => {
    const environment = defineEnvironment({
      id: "quiet",
      tasks: [{ n: 0 }],
      reset: () => "question",
      step: () => ({ reward: 1, correct: true }),
    });
    const summary = await evaluated([["x"]], { folder: await temporaryFolder(), environment });
    expect(summary.counts).toMatchObject({ failed: 1 });
  });
});
