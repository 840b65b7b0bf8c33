import { describe, expect, it } from "vitest";
import type { Action } from "../../src/environment/environment.ts";
import { type Reward, scored, unscored } from "../../src/environment/reward.ts";
import { textMessage } from "../../src/message/message.ts";
import type { Episode, EpisodeStatus, Group } from "../../src/rollout/episode.ts";
import { rolloutMetrics, unscoredWarning } from "../../trainers/rollout-metrics.ts";
import { sampleEvent } from "../../trainers/sample-event.ts";

function episode(options: {
  readonly reward: Reward;
  readonly tokens?: number;
  readonly status?: EpisodeStatus;
  readonly finish?: Action["finish"];
}): Episode {
  const { reward, tokens = 1, status = "completed", finish = "stop" } = options;
  const ids = Array.from({ length: tokens }, () => 1);
  const nodes = [
    { id: 0, parent: null, turn: 0, message: textMessage("system", "Be brief.") },
    { id: 1, parent: 0, turn: 0, message: textMessage("user", "2+2=") },
    {
      id: 2,
      parent: 1,
      turn: 0,
      message: textMessage("assistant", "4"),
      tokens: { ids, mask: 1 as const, startsSequence: false },
    },
  ];
  const turns = [{ turn: 0, node: 2, finish }];
  return {
    id: "e",
    environment: "test",
    task: { index: 0, id: "0", hash: "0" },
    seed: 0,
    member: 0,
    status,
    agents: { agent: { nodes, turns, reward, terminated: true, truncated: false } },
    turns: 1,
    durationMs: 1,
  };
}

const group = (...episodes: Episode[]): Group => ({ task: { index: 0, id: "0", hash: "0" }, episodes });

describe("rolloutMetrics", () => {
  it("gives rewards over scored episodes and shares over all", () => {
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
      "episodes/count": 4,
      "episodes/unscored": 0.25,
      "episodes/failed": 0.25,
      "episodes/truncated": 0.25,
      "groups/without-signal": 0.5,
      "turns/mean": 1,
      "length/completion-mean": 13 / 4,
      "length/completion-max": 5,
      "length/cut-off": 0.25,
      "tokens/sampled": 13,
    });
    expect(unscoredWarning(groups)).toBe("1 of 4 episodes are unscored and were left out: the judge is silent");
  });

  it("leaves out what does not exist, never filling in a 0", () => {
    const metrics = rolloutMetrics([group(episode({ reward: unscored("silent") }))]);
    expect(Object.keys(metrics)).not.toContain("reward/mean");
    expect(Object.keys(metrics)).not.toContain("reward/std");
    expect(Object.values(rolloutMetrics([])).every(Number.isFinite)).toBe(true);
    expect(unscoredWarning([group(episode({ reward: scored(0) }))])).toBeUndefined();
  });
});

describe("sampleEvent", () => {
  it("shows the whole prompt, the completion, and the reward where there is one", () => {
    expect(sampleEvent(3, [group(episode({ reward: scored(1) }))])).toEqual({
      type: "sample",
      step: 3,
      prompt: "Be brief.\n2+2=",
      completion: "4",
      reward: 1,
    });
    expect(sampleEvent(3, [group(episode({ reward: unscored("silent") }))])).not.toHaveProperty("reward");
    expect(sampleEvent(3, [])).toBeUndefined();
  });
});
