import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { scored } from "../../../src/contract/reward.ts";
import { advantageEstimators } from "../../../trainers/advantages/index.ts";
import { groupAdvantages } from "../../../trainers/credit/group-advantages.ts";
import { preferencePairs } from "../../../trainers/credit/preference-pairs.ts";
import { hasSignal } from "../../../trainers/credit/trajectory.ts";
import { type TrainingGroup, withSequences } from "../../../trainers/data/training-group.ts";
import { playedEpisode } from "../played-episode.ts";

const context = { learnerOf: () => "learner" } as never;

/** One episode per reward, each with one sampled token. */
function groupOf(rewards: readonly number[]): TrainingGroup {
  const episodes = rewards.map((reward) => {
    const agent = { nodes: [], turns: [], reward: scored(reward), terminated: true, truncated: false };
    const sequence = { ids: [1, 2], mask: [0, 1] as const, logprobs: [0, -1], turns: [-1, 0] };
    return withSequences(playedEpisode({ agent }), () => [sequence as never]);
  });
  return { task: episodes[0]!.task, episodes };
}

async function advantagesOf(rewards: readonly number[], id: string, whiten: boolean): Promise<number[]> {
  const credit = groupAdvantages({ estimator: advantageEstimators.get(id), whiten });
  const { samples } = await credit.assign({ groups: [groupOf(rewards)] }, context);
  return samples.map(({ advantage }) => (typeof advantage === "number" ? advantage : advantage![0]![1]!));
}

/** Sums of the same parts in another order, and results of the same formula written in another way. */
const sameButForRounding: readonly (readonly number[])[] = [
  [0.1 + 0.2, 0.3],
  [0.7 + 0.1, 0.8],
  [0.1 * 3, 0.3, 0.3],
  [1.1 + 2.2, 3.3],
  [0.1 + 0.2 - 0.3, 0],
  [(0.1 + 0.2 + 0.3) / 3, 0.2],
  [1 / 3, 1 - 2 / 3],
  [1e6 * (0.1 + 0.2), 3e5],
  [-0.1 - 0.2, -0.3],
  [4.35 * 100, 435, 435],
  [1 - 0.9, 0.1],
  [Math.sqrt(2) ** 2, 2],
];

describe.each(sameButForRounding.map((rewards) => ({ rewards })))("rewards $rewards", ({ rewards }) => {
  it("are equal for every comparison of rewards", async () => {
    expect(new Set(rewards).size).toBeGreaterThan(1);
    expect(hasSignal(groupOf(rewards))).toBe(false);
    for (const id of ["group-mean", "group-z-score", "leave-one-out", "group-max"]) {
      for (const whiten of [false, true]) {
        const advantages = await advantagesOf(rewards, id, whiten);
        expect(advantages.map(Math.abs), `${id}, whiten ${whiten}`).toEqual(rewards.map(() => 0));
      }
    }
    expect((await advantagesOf(rewards, "none", true)).map(Math.abs)).toEqual(rewards.map(() => 0));
    const pairs = await preferencePairs({ pairs: "all", margin: 0 }).assign({ groups: [groupOf(rewards)] }, context);
    expect(pairs.samples).toEqual([]);
  });
});

it("keeps every difference that is larger than rounding", async () => {
  const apart = fc.tuple(fc.integer({ min: -1e6, max: 1e6 }), fc.integer({ min: 1, max: 1e6 }));
  await fc.assert(
    fc.asyncProperty(apart, async ([value, more]) => {
      const rewards = [value / 1000, value / 1000 + more * 1e-7];
      expect(hasSignal(groupOf(rewards))).toBe(true);
      for (const id of ["group-mean", "group-z-score", "leave-one-out"]) {
        const [low, high] = await advantagesOf(rewards, id, true);
        expect(low).toBeLessThan(0);
        expect(high).toBeGreaterThan(0);
      }
    }),
    { numRuns: 50 },
  );
});
