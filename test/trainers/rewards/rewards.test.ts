import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { textMessage } from "../../../src/contract/message.ts";
import { scored, unscored } from "../../../src/contract/reward.ts";
import type { JointTree } from "../../../src/core/rollout/joint-action.ts";
import { trainingGroup } from "../../../trainers/data/training-group.ts";
import { processRewards } from "../../../trainers/rewards/process-rewards.ts";
import {
  createRewardProcessors,
  type RewardProcessorConfig,
  rewardProcessors,
  rewardProcessorsSchema,
} from "../../../trainers/rewards/reward-processor-config.ts";
import { playedEpisode } from "../played-episode.ts";

function apply(config: RewardProcessorConfig, reward: number, length = 10): number {
  return createRewardProcessors([config])[0]!(reward, { length, seed: 0 });
}

/** A tree of one turn in which two agents earn 3 together in each joint action. */
function jointTree(actions: number): JointTree {
  const jointActions = Array.from({ length: actions }, (_, index) => ({
    choice: { one: index, other: index },
    rewards: { one: scored(3), other: scored(3) },
  }));
  const root = { turn: 0, agents: {}, jointActions, endedEarly: false };
  return { task: { index: 0, id: "0", hash: "0" }, seed: 4, root, episodes: [] };
}

describe("reward processors", () => {
  it("are in a registry, and a config can name each", () => {
    const types = rewardProcessors.list().map(({ id }) => id);
    expect(types).toContain("sigmoid-scale");
    const entries = types.map((type) => ({ type, ...(type === "overlong-penalty" ? { cache: 5 } : {}) }));
    expect(rewardProcessorsSchema.parse(entries).map(({ type }) => type)).toEqual(types);
    expect(() => rewardProcessorsSchema.parse([{ type: "scal" }])).toThrow();
    expect(() => rewardProcessors.get("scal")).toThrow('Unknown reward processor "scal".');
  });

  it("equal values computed by hand", () => {
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

  it("never reverse the order of two rewards", () => {
    const value = fc.double({ min: -20, max: 20, noNaN: true });
    const configs: RewardProcessorConfig[] = [
      { type: "clamp", minimum: -1, maximum: 2 },
      { type: "scale", factor: 3 },
      { type: "shift", by: -4 },
      { type: "sigmoid-scale" },
      { type: "exponential-scale", factor: 0.5 },
      { type: "normalize-by-length", full: 20 },
      { type: "overlong-penalty", cache: 5, maxTokens: 12 },
    ];
    fc.assert(
      fc.property(value, value, fc.constantFrom(...configs), (a, b, config) => {
        const [low, high] = a < b ? [a, b] : [b, a];
        expect(apply(config, low)).toBeLessThanOrEqual(apply(config, high));
      }),
    );
  });

  const turn = (node: number, value: number) => ({ turn: node, node, finish: "stop" as const, reward: scored(value) });
  const group = trainingGroup({
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
  });

  it("are applied turn by turn, in order, and leave an unscored reward unscored", () => {
    const processors = createRewardProcessors([
      { type: "shift", by: 1 },
      { type: "clamp", minimum: 0, maximum: 2 },
    ]);
    const { agents } = processRewards({ group }, processors).group.episodes[0]!;
    expect(agents.agent!.turns.map(({ reward }) => reward)).toMatchObject([{ value: 2 }, { value: 0 }]);
    expect(agents.agent!.reward).toMatchObject({ status: "scored", value: 2 });
    expect(agents.other!.reward.status).toBe("unscored");
    expect(processRewards({ group }, [])).toEqual({ group });
  });

  describe("random rewards", () => {
    const rewardsOf = (played: ReturnType<typeof playedEpisode>): readonly number[] => {
      const coin = createRewardProcessors([{ type: "random", probability: 0.3 }]);
      const { episodes } = processRewards(
        { group: trainingGroup({ task: played.task, episodes: [played] }) },
        coin,
      ).group;
      return episodes[0]!.agents.agent!.turns.map(({ reward }) => (reward as { readonly value: number }).value);
    };
    const record = { ...group.episodes[0]!.agents.agent!, nodes: [], turns: [turn(0, 5), turn(1, -1)] };
    const seeded = (seed: number, sampleIndex = 0) => ({ ...playedEpisode({ agent: record }), seed, sampleIndex });
    const many = Array.from({ length: 2000 }, (_, seed) => rewardsOf(seeded(seed)));

    it("are coins of the given probability with the mean 0, whatever the reward is", () => {
      for (const place of [0, 1]) {
        const ones = many.filter((rewards) => rewards[place] === 0.7).length;
        expect(many.filter((rewards) => rewards[place] === -0.3)).toHaveLength(2000 - ones);
        // 600 expected, with a standard deviation of 20.5.
        expect(Math.abs(ones - 600)).toBeLessThan(85);
      }
    });

    it("differ between turns, samples and seeds, and repeat for the same episode", () => {
      expect(many.some(([first, second]) => first !== second)).toBe(true);
      const samples = Array.from({ length: 30 }, (_, index) => rewardsOf(seeded(1, index)).join(" "));
      expect(new Set(samples).size).toBeGreaterThan(1);
      expect(rewardsOf(seeded(7))).toEqual(rewardsOf(seeded(7)));
    });

    it("of a tree differ between joint actions and agents, and repeat", () => {
      const tree = jointTree(16);
      const coin = createRewardProcessors([{ type: "random", probability: 0.5 }]);
      const valuesOf = (): readonly (readonly number[])[] =>
        processRewards(
          { group: trainingGroup({ task: tree.task, episodes: [] }), tree },
          coin,
        ).tree!.root!.jointActions.map(({ rewards }) =>
          Object.values(rewards).map((reward) => (reward as { readonly value: number }).value),
        );
      const values = valuesOf();
      expect(new Set(values.map(([first]) => first)).size).toBe(2);
      expect(values.some(([first, second]) => first !== second)).toBe(true);
      expect(valuesOf()).toEqual(values);
    });
  });

  describe("the overlong penalty", () => {
    it("is equation 13 of DAPO, added to the reward", () => {
      // L_max 100, L_cache 20: by hand 0, 0, -1/20, -1/2, -1, -1.
      const lengths = [0, 80, 81, 90, 100, 130];
      const config: RewardProcessorConfig = { type: "overlong-penalty", cache: 20, maxTokens: 100 };
      const paid = lengths.map((length) => apply(config, 1, length));
      for (const [i, wanted] of [1, 1, 0.95, 0.5, 0, 0].entries()) expect(paid[i]).toBeCloseTo(wanted, 12);
      const shorter: RewardProcessorConfig = { ...config, maxTokens: 50 };
      expect([30, 40, 50].map((length) => apply(shorter, 0, length) + 0)).toEqual([0, -0.5, -1]);
    });

    it("with a cache as long as the answer applies from the first token", () => {
      expect(
        [0, 50, 100].map((length) => apply({ type: "overlong-penalty", cache: 100, maxTokens: 100 }, 0, length) + 0),
      ).toEqual([0, -0.5, -1]);
    });

    it("refuses a cache longer than an answer", () => {
      expect(() => createRewardProcessors([{ type: "overlong-penalty", cache: 101, maxTokens: 100 }])).toThrow(
        /cache of 101 tokens, but an answer has at most 100/,
      );
    });

    const answer = (id: number, length: number) => ({
      id,
      parent: null,
      turn: id,
      message: textMessage("assistant", "x"),
      tokens: { ids: Array.from({ length }, () => 7), mask: 1 as const, startsSequence: true },
    });
    const stop = { finish: "stop" as const };

    it("applies to every turn by its own length, also without a reward, but not to an unscored one", () => {
      const episode = playedEpisode({
        agent: {
          nodes: [answer(0, 10), answer(1, 8), answer(2, 3)],
          turns: [
            { turn: 0, node: 0, ...stop },
            { turn: 1, node: 1, ...stop },
            { turn: 2, node: 2, ...stop, reward: scored(1, { right: 1 }) },
          ],
          reward: scored(1, { right: 1 }),
          terminated: true,
          truncated: false,
        },
        judged: {
          nodes: [answer(0, 10)],
          turns: [{ turn: 0, node: 0, ...stop, reward: unscored("judge") }],
          reward: unscored("judge"),
          terminated: true,
          truncated: false,
        },
      });
      const played = { group: trainingGroup({ task: episode.task, episodes: [episode] }) };
      const chain = createRewardProcessors([{ type: "overlong-penalty", cache: 4, maxTokens: 10 }]);
      const { agents } = processRewards(played, chain).group.episodes[0]!;
      expect(agents.agent!.turns.map(({ reward }) => reward)).toEqual([
        scored(-1),
        scored(-0.5),
        scored(1, { right: 1 }),
      ]);
      expect(agents.agent!.reward).toMatchObject({ status: "scored", value: -0.5 });
      expect(agents.judged).toEqual(episode.agents.judged);
      const short = createRewardProcessors([
        { type: "overlong-penalty", cache: 1, maxTokens: 100 },
        { type: "scale", factor: 2 },
      ]);
      expect(processRewards(played, short).group.episodes[0]!.agents.agent!.turns[0]!.reward).toBeUndefined();
    });
  });
});
