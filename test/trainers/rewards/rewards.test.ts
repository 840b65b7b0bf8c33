import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { scored, unscored } from "../../../src/environment/reward.ts";
import { textMessage } from "../../../src/message/message.ts";
import type { Group } from "../../../src/rollout/episode.ts";
import { processRewards } from "../../../trainers/rewards/process-rewards.ts";
import { type RewardProcessorConfig, rewardProcessors } from "../../../trainers/rewards/reward-processor-config.ts";
import { playedEpisode } from "../played-episode.ts";

function apply(config: RewardProcessorConfig, reward: number, length = 10): number {
  return rewardProcessors([config])[0]!(reward, { length });
}

describe("reward processors", () => {
  it("by hand", () => {
    expect(apply({ type: "identity" }, 3)).toBe(3);
    expect(apply({ type: "clamp", minimum: -1, maximum: 1 }, 3)).toBe(1);
    expect(apply({ type: "clamp", minimum: -1, maximum: 1 }, -3)).toBe(-1);
    expect(apply({ type: "scale", factor: 0.5 }, 3)).toBe(1.5);
    expect(apply({ type: "shift", by: -2.1 }, 3)).toBeCloseTo(0.9, 12);
    expect(apply({ type: "sigmoid-scale" }, 0)).toBe(0.5);
    expect(apply({ type: "sigmoid-scale" }, -800)).toBe(0);
    expect(apply({ type: "exponential-scale", factor: 2 }, 1)).toBeCloseTo(Math.E ** 2 - 1, 12);
    expect(apply({ type: "normalize-by-length", full: 20 }, 3, 10)).toBe(1.5);
    expect(apply({ type: "normalize-by-length", full: 20 }, 3, 40)).toBe(3);
  });

  it("never turn the order of two rewards round", () => {
    const value = fc.double({ min: -20, max: 20, noNaN: true });
    const configs: RewardProcessorConfig[] = [
      { type: "clamp", minimum: -1, maximum: 2 },
      { type: "scale", factor: 3 },
      { type: "shift", by: -4 },
      { type: "sigmoid-scale" },
      { type: "exponential-scale", factor: 0.5 },
      { type: "normalize-by-length", full: 20 },
    ];
    fc.assert(
      fc.property(value, value, fc.constantFrom(...configs), (a, b, config) => {
        const [low, high] = a < b ? [a, b] : [b, a];
        expect(apply(config, low)).toBeLessThanOrEqual(apply(config, high));
      }),
    );
  });

  const turn = (node: number, value: number) => ({ turn: node, node, finish: "stop" as const, reward: scored(value) });
  const group: Group = {
    task: { index: 0, id: "0", hash: "0" },
    episodes: [
      playedEpisode({
        agent: {
          nodes: [0, 1].map((id) => ({ id, parent: null, turn: id, message: textMessage("assistant", "x") })),
          turns: [turn(0, 5), turn(1, -1)],
          reward: scored(4),
          terminated: true,
          truncated: false,
        },
        other: {
          nodes: [],
          turns: [],
          reward: unscored("judge"),
          terminated: true,
          truncated: false,
        },
      }),
    ],
  };

  it("work turn by turn, in order, and leave an unscored reward unscored", () => {
    const processors = rewardProcessors([
      { type: "shift", by: 1 },
      { type: "clamp", minimum: 0, maximum: 2 },
    ]);
    const { agents } = processRewards({ group }, processors).group.episodes[0]!;
    expect(agents.agent!.turns.map(({ reward }) => reward)).toMatchObject([{ value: 2 }, { value: 0 }]);
    expect(agents.agent!.reward).toMatchObject({ status: "scored", value: 2 });
    expect(agents.other!.reward.status).toBe("unscored");
    expect(processRewards({ group }, [])).toEqual({ group });
  });
});
