import { describe, expect, it } from "vitest";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { defineParallelEnvironment } from "../../src/core/environment/define-parallel-environment.ts";
import { scriptedPolicy } from "../../src/core/policy/scripted-policy.ts";
import type { TrainingConfigInput } from "../../trainers/config/training-config.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { letterEnvironment } from "./letter-environment.ts";
import { checkpointState, eventsOf, letterConfig, runTraining } from "./run-training.ts";

/** An agent that answers with an odd character code wins. If both or neither do, it is a draw. */
function duel(): EnvironmentDefinition {
  return defineParallelEnvironment<"left" | "right", string>({
    id: "duel",
    agents: ["left", "right"],
    rewardRange: [-1, 1],
    tasks: (split) => [...(split === "train" ? "abcdefgh" : "stuv")],
    // All prompts have the same end. Otherwise a table of letter pairs learns nothing about other tasks.
    reset: ({ task }) => ({ left: `${task}?`, right: `${task}?` }),
    step: ({ texts }) => {
      const left = isOdd(texts.left) - isOdd(texts.right);
      return { rewards: { left, right: -left } };
    },
  }) as EnvironmentDefinition;
}

const isOdd = (text: string): number => text.charCodeAt(0) % 2;
const loser = scriptedPolicy(() => "B", { name: "the loser" });
const winner = scriptedPolicy(() => "A", { name: "the winner" });

const config = (changes: Partial<TrainingConfigInput> = {}): TrainingConfigInput =>
  letterConfig({
    agents: { weights: "shared" },
    evaluation: { split: "test", every: 3, temperature: 1, episodesPerTask: 8 },
    ...changes,
  });

describe("the opponent of evaluations", () => {
  it("shows the progress of self-play, although the mean reward of both sides is always 0", async () => {
    const rewards = async (opponent?: typeof loser): Promise<number[]> => {
      const record = await runTraining({
        output: temporaryFolder(),
        environment: duel(),
        config: config(),
        ...(opponent === undefined ? {} : { opponent }),
      });
      expect(record.error).toBeUndefined();
      return eventsOf(record, "evaluation").map(({ metrics }) => metrics["reward/mean"]!);
    };
    expect(await rewards()).toEqual([0, 0, 0]);
    const [before, , after] = await rewards(loser);
    expect(after).toBeGreaterThan(before! + 0.2);
    const [beaten, , drawn] = await rewards(winner);
    expect(beaten).toBeLessThan(0);
    expect(drawn).toBeGreaterThan(beaten! + 0.2);
  });

  it("plays the same number of games from each side, and does not change the weights", async () => {
    const [alone, measured] = [temporaryFolder(), temporaryFolder()];
    await runTraining({ output: alone, environment: duel(), config: config() });
    const record = await runTraining({ output: measured, environment: duel(), config: config(), opponent: loser });
    for (const { metrics, opponent } of eventsOf(record, "evaluation")) {
      expect(opponent).toBe("the loser");
      expect(metrics["episodes/count"]).toBe(2 * 4 * 8);
      expect((metrics["agents/left/reward"]! + metrics["agents/right/reward"]!) / 2).toBeCloseTo(
        metrics["reward/mean"]!,
      );
    }
    expect(await checkpointState(measured, 6)).toBe(await checkpointState(alone, 6));
  });

  it("causes a new evaluation if a resumed run has another opponent", async () => {
    const evaluations = async (opponent: typeof loser): Promise<number[]> => {
      const record = await runTraining({ output, environment: duel(), config: config(), opponent, resume: true });
      expect(record.error).toBeUndefined();
      return eventsOf(record, "evaluation").map(({ step }) => step);
    };
    const output = temporaryFolder();
    await runTraining({ output, environment: duel(), config: config(), opponent: loser });
    expect(await evaluations(loser)).toEqual([]);
    expect(await evaluations(winner)).toEqual([6]);
  });

  it.each([
    ["one agent", { environment: letterEnvironment(), opponent: loser }, /two agents, but "\w+" has 1/],
    ["a frozen agent", { opponent: loser, policies: { left: winner } }, /agents.policies names the policy of "left"/],
    ["no evaluation", { opponent: loser, config: config({ evaluation: {} }) }, /no evaluation/],
    [
      "a name without a policy",
      { config: config({ evaluation: { split: "test", opponent: "runs/other" } }) },
      /no opened policy/,
    ],
  ])("is refused: %s", async (_, options, message) => {
    const { error, events } = await runTraining({
      output: temporaryFolder(),
      environment: duel(),
      config: config(),
      ...options,
    });
    expect(error).toMatchObject({ code: "config.invalid", message: expect.stringMatching(message) });
    expect((error as { hint?: string }).hint).toBeTruthy();
    expect(events).toEqual([]);
  });
});
