import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { plainLine } from "../../reports/training/plain-line.ts";
import { trainingEventSchema } from "../../reports/training/training-event-schema.ts";
import type { Action } from "../../src/contract/action.ts";
import type { Episode, EpisodeStatus, Group } from "../../src/contract/episode.ts";
import { textMessage } from "../../src/contract/message.ts";
import { type Reward, scored, unscored } from "../../src/contract/reward.ts";
import { createRandom } from "../../src/core/random/random.ts";
import { rolloutMetrics, unscoredWarning, withoutPolicyMetrics } from "../../trainers/metrics/rollout-metrics.ts";
import { asDemonstration, sampleEvent } from "../../trainers/rollouts/sample-event.ts";
import { playedEpisode } from "./played-episode.ts";

function episode(options: {
  readonly reward: Reward;
  readonly tokens?: number;
  readonly text?: string;
  readonly logprob?: number;
  readonly status?: EpisodeStatus;
  readonly finish?: Action["finish"];
}): Episode {
  const { reward, tokens = 1, text = "4", logprob, status = "completed", finish = "stop" } = options;
  const ids = Array.from({ length: tokens }, () => 1);
  const nodes = [
    { id: 0, parent: null, turn: 0, message: textMessage("system", "Be brief.") },
    { id: 1, parent: 0, turn: 0, message: textMessage("user", "2+2=") },
    {
      id: 2,
      parent: 1,
      turn: 0,
      message: textMessage("assistant", text),
      tokens: {
        ids,
        mask: 1 as const,
        startsSequence: false,
        ...(logprob === undefined ? {} : { logprobs: ids.map(() => logprob) }),
      },
    },
  ];
  const turns = [{ turn: 0, node: 2, finish }];
  return playedEpisode({ agent: { nodes, turns, reward, terminated: true, truncated: false } }, { status });
}

const group = (...episodes: Episode[]): Group => ({ task: { index: 0, id: "0", hash: "0" }, episodes });

describe("rolloutMetrics", () => {
  it("averages rewards over scored episodes and shares over all", () => {
    const groups = [
      group(
        episode({ reward: scored(1, { correct: 1, format: 0 }), tokens: 3 }),
        episode({ reward: scored(0, { correct: 0, format: 0.5 }), tokens: 5, finish: "length", status: "truncated" }),
      ),
      group(
        episode({ reward: unscored("the judge is silent"), tokens: 4, status: "failed" }),
        episode({ reward: scored(2, { correct: 2 }) }),
      ),
    ];
    expect(rolloutMetrics(groups)).toEqual({
      "reward/mean": 1,
      "reward/std": 1,
      "reward/component/correct": 1,
      "reward/component/format": 0.25,
      "episodes/caused-failure": 0,
      "episodes/count": 4,
      "episodes/unscored": 0.25,
      "episodes/failed": 0.25,
      "episodes/truncated": 0.25,
      "groups/without-signal": 0.5,
      "groups/duplicates": 1,
      "turns/mean": 1,
      "length/completion-mean": 13 / 4,
      "length/completion-max": 5,
      "length/cut-off": 0.25,
      "tokens/sampled": 13,
    });
    expect(unscoredWarning(groups, {})).toBe(
      "1 of 4 episodes are unscored and were left out. Reason of the first: the judge is silent",
    );
    expect(unscoredWarning(groups, { learnsFrom: "demonstrations" })).toBe(
      "1 of 4 episodes are unscored. Demonstrations are learnt without a score too. Reason of the first: the judge is silent",
    );
  });

  it("estimates the entropy from the sampled tokens, with equal weights", () => {
    const groups = [
      group(episode({ reward: scored(1), tokens: 3, logprob: -1 }), episode({ reward: scored(1), logprob: -5 })),
    ];
    expect(rolloutMetrics(groups)["entropy/sampled"]).toBe(2);
  });

  it("counts the episodes with the same actions as another of their group", () => {
    const said = (...texts: string[]) => group(...texts.map((text) => episode({ reward: scored(0), text })));
    const share = (...groups: Group[]) => rolloutMetrics(groups)["groups/duplicates"];
    expect(share(said("a", "b", "c", "a"))).toBe(0.5);
    expect(share(said("a", "a", "a"))).toBe(1);
    expect(share(said("a", "b"))).toBe(0);
    expect(share(said("a", "b"), said("a", "a"))).toBe(0.5);
    expect(share(said("a"), said("a"))).toBeUndefined();
  });

  it("counts a group as solved if every scored episode has the highest reward, and none without a finite range", () => {
    const groups = [
      group(episode({ reward: scored(1) }), episode({ reward: scored(1) })),
      group(episode({ reward: scored(1) }), episode({ reward: scored(0.5) })),
      group(episode({ reward: scored(1) }), episode({ reward: unscored("silent") })),
      group(episode({ reward: unscored("silent") })),
    ];
    const solved = (rewardRange?: [number, number]) =>
      rolloutMetrics(groups, rewardRange === undefined ? {} : { rewardRange })["groups/solved"];
    expect(solved([0, 1])).toBe(0.5);
    expect(solved([0, Number.POSITIVE_INFINITY])).toBeUndefined();
    expect(solved()).toBeUndefined();
  });

  it("compares a path that was not continued by its reward until then", () => {
    /** A path of this many turns, with this reward in each. */
    const path = (earned: readonly number[], changes: Partial<Episode> = {}): Episode => {
      const whole = episode({ reward: scored(earned.reduce((sum, value) => sum + value, 0)) });
      const { agent } = whole.agents;
      const turns = earned.map((value, turn) => ({ ...agent!.turns[0]!, turn, reward: scored(value) }));
      return { ...whole, agents: { agent: { ...agent!, turns } }, turns: earned.length, ...changes };
    };
    const left = (...earned: number[]): Episode => path(earned, { status: "truncated", limit: "shape" });
    const failed = { ...episode({ reward: unscored("silent") }), turns: 2 };
    const solved = (...episodes: Episode[]) =>
      rolloutMetrics([group(...episodes)], { rewardRange: [0, 2] })["groups/solved"];
    expect(solved(left(1), path([1, 1]), path([1, 1]))).toBe(1);
    expect(solved(left(0.9), path([1, 1]), path([1, 1]))).toBe(0);
    expect(solved(left(1), path([1, 1]), path([1, 0.9]))).toBe(0);
    // In another order of addition, 0.1 + 0.7 is not 0.8.
    expect(solved(left(0.1, 0.7), path([0.8, 0, 1.2]))).toBe(1);
    // The threshold ended all paths, or the continued ones are unscored.
    expect(solved(left(1), left(1))).toBe(1);
    expect(solved(left(1), left(0.9))).toBe(0);
    expect(solved(left(0), left(0), failed)).toBe(0);
    const { "episodes/truncated": truncated } = rolloutMetrics([
      group(left(1), path([1], { status: "truncated", limit: "turns" })),
    ]);
    expect(truncated).toBe(0.5);
  });

  it("uses hasSignal for groups of several episodes", () => {
    const groups = [
      group(episode({ reward: scored(1) }), episode({ reward: scored(0) })),
      group(episode({ reward: scored(1) })),
    ];
    expect(rolloutMetrics(groups)["groups/without-signal"]).toBe(0);
    const asked: unknown[] = [];
    const hasSignal = (...played: unknown[]): boolean => {
      asked.push(played);
      return false;
    };
    expect(rolloutMetrics(groups, { hasSignal })["groups/without-signal"]).toBe(0.5);
    expect(asked).toEqual([[groups[0], 0]]);
  });

  it("does not depend on the order of groups or of their episodes", () => {
    const reward = fc.oneof(
      fc.integer({ min: -3, max: 3 }).map((value) => scored(value)),
      fc.constant(unscored("silent")),
    );
    const played = fc
      .record({
        reward,
        tokens: fc.integer({ min: 1, max: 9 }),
        text: fc.constantFrom("a", "b", "c"),
        logprob: fc.constant(-0.5),
      })
      .map(episode);
    const groups = fc.array(fc.array(played, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(groups, fc.integer(), (lists, seed) => {
        const { shuffle } = createRandom(seed);
        const metrics = (all: Episode[][]) =>
          rolloutMetrics(
            all.map((list) => group(...list)),
            { rewardRange: [-3, 3] },
          );
        const [before, after] = [metrics(lists), metrics(shuffle(lists.map((list) => shuffle(list))))];
        expect(Object.keys(after).sort()).toEqual(Object.keys(before).sort());
        for (const [name, value] of Object.entries(before)) expect(after[name]).toBeCloseTo(value, 9);
      }),
    );
  });

  it("removes the metrics of the policy from demonstrations", () => {
    const metrics = rolloutMetrics(
      [group(episode({ reward: scored(1), logprob: -1 }), episode({ reward: scored(1) }))],
      { rewardRange: [0, 1] },
    );
    expect(Object.keys(withoutPolicyMetrics(metrics)).sort()).toEqual([
      "episodes/caused-failure",
      "episodes/count",
      "episodes/failed",
      "episodes/truncated",
      "episodes/unscored",
      "groups/without-signal",
      "length/completion-max",
      "length/completion-mean",
      "length/cut-off",
      "turns/mean",
    ]);
  });

  it("leaves out metrics that do not apply, instead of a 0", () => {
    const metrics = rolloutMetrics([group(episode({ reward: unscored("silent") }))]);
    expect(Object.keys(metrics)).not.toContain("reward/mean");
    expect(Object.keys(metrics)).not.toContain("reward/std");
    expect(Object.values(rolloutMetrics([])).every(Number.isFinite)).toBe(true);
    expect(unscoredWarning([group(episode({ reward: scored(0) }))], {})).toBeUndefined();
  });
});

describe("sampleEvent", () => {
  const learning = (groups: readonly Group[], ...frozen: string[]) => ({ groups, frozen: new Set(frozen) });

  it("has the whole prompt, the completion, and the reward if there is one", () => {
    expect(sampleEvent(3, learning([group(episode({ reward: scored(1) }))]))).toEqual({
      type: "sample",
      step: 3,
      prompt: "Be brief.\n2+2=",
      messages: [
        { role: "system", text: "Be brief." },
        { role: "user", text: "2+2=" },
      ],
      completion: "4",
      reward: 1,
    });
    expect(sampleEvent(3, learning([group(episode({ reward: unscored("silent") }))]))).not.toHaveProperty("reward");
    expect(sampleEvent(3, learning([]))).toBeUndefined();
  });

  it("has every message of every agent of a team by turn, and each agent's reward", () => {
    const agent = (words: readonly [string, string], value: number) => ({
      nodes: [
        { id: 0, parent: null, turn: 0, message: textMessage("user", "Build it.") },
        { id: 1, parent: 0, turn: 0, message: textMessage("assistant", words[0]) },
        { id: 2, parent: 1, turn: 1, message: textMessage("user", `After ${words[0]}.`) },
        { id: 3, parent: 2, turn: 1, message: textMessage("assistant", words[1]) },
      ],
      turns: [
        { turn: 0, node: 1, finish: "stop" as const },
        { turn: 1, node: 3, finish: "stop" as const },
      ],
      ...{ reward: scored(value), terminated: true, truncated: false },
    });
    const team = playedEpisode({ coder: agent(["a", "b"], 1), reviewer: agent(["c", "d"], 0.5) });
    const sample = sampleEvent(3, learning([group(team)], "coder"));
    // The frozen coder is shown. The sample is that of the reviewer, who learns.
    expect(sample).toMatchObject({ agent: "reviewer", completion: "d", reward: 0.5 });
    expect(sample).toMatchObject({ rewards: { coder: 1, reviewer: 0.5 } });
    expect(sample).not.toHaveProperty("messages");
    expect(sample!.conversation!.map(({ turn, author, readers, text }) => [turn, author ?? readers, text])).toEqual([
      [0, ["coder", "reviewer"], "Build it."],
      [0, "coder", "a"],
      [0, "reviewer", "c"],
      [1, ["coder"], "After a."],
      [1, ["reviewer"], "After c."],
      [1, "coder", "b"],
      [1, "reviewer", "d"],
    ]);
    // Nothing is lost in metrics.jsonl, and a line of the terminal has every action.
    const event = { ...sample!, step: 3 };
    expect(trainingEventSchema.parse(JSON.parse(JSON.stringify(event)))).toEqual(event);
    for (const action of ["coder, turn 1: a", "reviewer, turn 1: c", "coder, turn 2: b", "reviewer, turn 2: d"])
      expect(plainLine(event)).toContain(action);
    expect(plainLine(event)).toMatch(/coder 1 {2}reviewer 0.5/);
    expect(asDemonstration(event)).not.toHaveProperty("rewards");
    expect(sampleEvent(3, learning([group(team)], "coder", "reviewer"))).toBeUndefined();
  });
});
