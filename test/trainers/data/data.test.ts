import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Episode, EpisodeStatus } from "../../../src/contract/episode.ts";
import { textMessage } from "../../../src/contract/message.ts";
import { type Reward, scored, unscored } from "../../../src/contract/reward.ts";
import { groupMean, noBaseline } from "../../../trainers/advantages/index.ts";
import { microBatches } from "../../../trainers/backend/micro-batches.ts";
import { groupSamples } from "../../../trainers/credit/group-advantages.ts";
import { imitationSamples } from "../../../trainers/credit/imitation.ts";
import { hasSignal } from "../../../trainers/credit/trajectory.ts";
import { sampleData, scaleDatum, trainedTokens } from "../../../trainers/data/sample-data.ts";
import { type TrainingGroup, trainingGroup } from "../../../trainers/data/training-group.ts";
import { playedEpisode } from "../played-episode.ts";

/** An episode of two turns: prompt 1 2, sampled 3 4, reply 5, sampled 6. If it is broken, 6 is in a new sequence. */
function episode(options: {
  readonly sampleIndex: number;
  readonly rewards: Readonly<Record<string, Reward>>;
  readonly status?: EpisodeStatus;
  readonly broken?: boolean;
}): Episode {
  const { sampleIndex, rewards, status = "completed", broken = false } = options;
  const node = (id: number, turn: number, ids: number[], sampled: boolean, startsSequence = false) => ({
    id,
    parent: id === 0 ? null : id - 1,
    turn,
    message: textMessage(sampled ? "assistant" : "user", "text"),
    tokens: sampled
      ? {
          ids,
          mask: 1 as const,
          logprobs: ids.map((value) => -value),
          weightsVersion: 7,
          temperature: 0.5,
          startsSequence,
        }
      : { ids, mask: 0 as const, startsSequence },
  });
  const nodes = [
    node(0, 0, [1, 2], false, true),
    node(1, 0, [3, 4], true),
    node(2, 1, broken ? [1, 2, 3, 4, 5] : [5], false, broken),
    node(3, 1, [6], true),
  ];
  const turns = [
    { turn: 0, node: 1, finish: "stop" as const },
    { turn: 1, node: 3, finish: "stop" as const },
  ];
  const agents = Object.entries(rewards).map(([agent, reward]) => [
    agent,
    { nodes, turns, reward, terminated: true, truncated: false },
  ]);
  return playedEpisode(Object.fromEntries(agents), { id: `episode-${sampleIndex}`, sampleIndex, status });
}

function group(rewards: readonly Reward[]): TrainingGroup {
  return groupOf(rewards.map((reward, sampleIndex) => episode({ sampleIndex, rewards: { agent: reward } })));
}

function groupOf(episodes: readonly Episode[]): TrainingGroup {
  return trainingGroup({ task: { index: 0, id: "0", hash: "0" }, episodes });
}

describe("samples", () => {
  it("leaves unscored episodes out of the baseline", () => {
    const samples = groupSamples(group([scored(1), unscored("judge"), scored(0)]), { estimator: groupMean });
    expect(samples.map(({ advantage }) => advantage)).toEqual([0.5, -0.5]);
  });

  it("never counts an unscored reward as 0", () => {
    fc.assert(
      fc.property(fc.array(fc.option(fc.integer({ min: -5, max: 5 })), { maxLength: 8 }), (values) => {
        const rewards = values.map((value) => (value === null ? unscored("judge") : scored(value)));
        const without = rewards.filter(({ status }) => status === "scored");
        const advantages = (all: readonly Reward[]) =>
          groupSamples(group(all), { estimator: groupMean }).map((s) => s.advantage);
        expect(advantages(rewards)).toEqual(advantages(without));
      }),
    );
  });

  it("compares only episodes of the same agent and group", () => {
    const two = [0, 1].map((sampleIndex) =>
      episode({ sampleIndex, rewards: { a: scored(sampleIndex), b: scored(10 * sampleIndex) } }),
    );
    const groups = [groupOf(two), group([scored(100), scored(102)])];
    expect(
      groups
        .flatMap((one) => groupSamples(one, { estimator: groupMean }))
        .map(({ agent, advantage }) => [agent, advantage]),
    ).toEqual([
      ["a", -0.5],
      ["a", 0.5],
      ["b", -5],
      ["b", 5],
      ["agent", -1],
      ["agent", 1],
    ]);
  });

  it("imitates all episodes that did not fail, also unscored ones, without advantages", () => {
    const statuses: EpisodeStatus[] = ["completed", "truncated", "failed", "aborted"];
    const episodes = statuses.map((status, sampleIndex) =>
      episode({ sampleIndex, status, rewards: { agent: unscored("judge") } }),
    );
    const samples = imitationSamples(groupOf(episodes));
    expect(samples).toHaveLength(2);
    for (const sample of samples) expect(sample.advantage).toBeUndefined();
  });

  it("finds the groups with a signal", () => {
    expect(hasSignal(group([scored(1), scored(0)]))).toBe(true);
    expect(hasSignal(group([scored(1), scored(1)]))).toBe(false);
    expect(hasSignal(group([scored(1), unscored("judge")]))).toBe(false);
    expect(hasSignal(group([scored(1)]))).toBe(false);
    expect(hasSignal(group([]))).toBe(false);
    const episodes = [0, 1].map((sampleIndex) =>
      episode({ sampleIndex, rewards: { a: scored(1), b: scored(sampleIndex) } }),
    );
    expect(hasSignal(groupOf(episodes))).toBe(true);
  });
});

describe("sampleData", () => {
  const sampleOf = (broken: boolean) =>
    groupSamples(groupOf([episode({ sampleIndex: 0, rewards: { agent: scored(3) }, broken })]), {
      estimator: noBaseline,
    })[0]!;

  it("trains each sampled token at the position that predicts it", () => {
    const [datum, ...others] = sampleData(sampleOf(false)).data;
    expect(others).toEqual([]);
    expect([...datum!.tokens]).toEqual([1, 2, 3, 4, 5]);
    expect([...datum!.targets]).toEqual([2, 3, 4, 5, 6]);
    expect([...datum!.lossMask]).toEqual([0, 1, 1, 0, 1]);
    expect([...datum!.advantages!]).toEqual([0, 3, 3, 0, 3]);
    expect([...datum!.behaviourLogprobs!]).toEqual([0, -3, -4, 0, -6]);
    expect(datum).toMatchObject({ temperature: 0.5, weightsVersion: 7 });
    expect(trainedTokens(datum!)).toBe(3);
  });

  it("gives one datum per sequence if the conversation restarted", () => {
    const { data } = sampleData(sampleOf(true));
    expect(data.map(({ targets }) => [...targets])).toEqual([
      [2, 3, 4],
      [2, 3, 4, 5, 6],
    ]);
    expect(data.map(({ lossMask }) => [...lossMask])).toEqual([
      [0, 1, 1],
      [0, 0, 0, 0, 1],
    ]);
  });

  it("scales only the mask and the advantages", () => {
    const [datum] = sampleData(sampleOf(false)).data;
    const scaled = scaleDatum(datum!, 0.25);
    expect([...scaled.lossMask]).toEqual([0, 0.25, 0.25, 0, 0.25]);
    expect([...scaled.advantages!]).toEqual([0, 0.75, 0.75, 0, 0.75]);
    expect(scaled.behaviourLogprobs).toBe(datum!.behaviourLogprobs);
    expect(trainedTokens(scaled)).toBe(3);
  });
});

describe("microBatches", () => {
  it("has every sequence once, and exceeds the limit only for a single sequence", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 100 }), { maxLength: 40 }),
        fc.integer({ min: 1, max: 300 }),
        (lengths, limit) => {
          const batches = microBatches(lengths, limit);
          expect(batches.flat().toSorted((a, b) => a - b)).toEqual([...lengths.keys()]);
          for (const batch of batches) {
            const longest = Math.max(...batch.map((index) => lengths[index]!));
            if (batch.length > 1) expect(longest * batch.length).toBeLessThanOrEqual(limit);
          }
        },
      ),
    );
  });

  it("groups sequences of similar length", () => {
    expect(microBatches([1, 9, 1, 9, 1], 18)).toEqual([
      [1, 3],
      [0, 2, 4],
    ]);
    expect(microBatches([], 5)).toEqual([]);
  });
});
