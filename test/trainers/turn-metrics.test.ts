import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Episode } from "../../src/contract/episode.ts";
import type { Json } from "../../src/contract/json.ts";
import { textMessage } from "../../src/contract/message.ts";
import { type Reward, scored, unscored } from "../../src/contract/reward.ts";
import { turnMetrics } from "../../trainers/metrics/turn-metrics.ts";
import { playedEpisode } from "./played-episode.ts";

/** An episode of one agent with these rewards, turn by turn. Undefined for a turn without a reward. */
function episode(paid: readonly (Reward | undefined)[], info?: readonly Json[]): Episode {
  const turns = paid.map((reward, turn) => ({
    turn,
    node: turn,
    finish: "stop" as const,
    ...(reward === undefined ? {} : { reward }),
  }));
  const nodes = turns.map(({ turn }) => ({ id: turn, parent: null, turn, message: textMessage("assistant", "a") }));
  const agent = { nodes, turns, reward: scored(0), terminated: true, truncated: false };
  return playedEpisode({ agent }, info === undefined ? {} : { info });
}

describe("turnMetrics", () => {
  it("averages the rewards of each turn over the episodes that played it", () => {
    const episodes = [episode([scored(1)]), episode([scored(0), scored(0.5)]), episode([undefined, scored(1)])];
    expect(turnMetrics(episodes)).toEqual({
      "rollout/turn-1/reward": 0.5,
      "rollout/turn-1/episodes": 1,
      "rollout/turn-2/reward": 0.75,
      "rollout/turn-2/episodes": 2 / 3,
    });
  });

  it("is empty for turns that no episode played, and for one-turn rollouts without own metrics", () => {
    expect(turnMetrics([])).toEqual({});
    expect(turnMetrics([episode([])])).toEqual({});
    expect(turnMetrics([episode([scored(1)]), episode([scored(0)])])).toEqual({});
  });

  it("has no reward for a turn without a reward or with unscored rewards", () => {
    const metrics = turnMetrics([episode([undefined, unscored("the judge is silent")])]);
    expect(metrics).toEqual({ "rollout/turn-1/episodes": 1, "rollout/turn-2/episodes": 1 });
  });

  it("uses the environment's own metrics: booleans as 1 and 0, and a reward instead of the turn's", () => {
    const episodes = [
      episode(
        [undefined, scored(1)],
        [{ metrics: { level: 2, passed: false, reward: 0.25 } }, { metrics: { level: 4, passed: true, reward: 1 } }],
      ),
      episode([scored(1)], [{ metrics: { level: 4, passed: true, reward: 1 } }]),
    ];
    expect(turnMetrics(episodes)).toEqual({
      "rollout/turn-1/level": 3,
      "rollout/turn-1/passed": 0.5,
      "rollout/turn-1/reward": 0.625,
      "rollout/turn-1/episodes": 1,
      "rollout/turn-2/level": 4,
      "rollout/turn-2/passed": 1,
      "rollout/turn-2/reward": 1,
      "rollout/turn-2/episodes": 0.5,
    });
    expect(turnMetrics([episodes[1]!])).toEqual({
      "rollout/turn-1/level": 4,
      "rollout/turn-1/passed": 1,
      "rollout/turn-1/reward": 1,
    });
  });

  it("assigns an info to the turn that it names, or by index if every step gave one", () => {
    const named = episode([undefined, scored(1)], [{ turn: 1, metrics: { level: 4 } }]);
    expect(turnMetrics([named])["rollout/turn-2/level"]).toBe(4);
    expect(turnMetrics([named])).not.toHaveProperty(["rollout/turn-1/level"]);
    const unnamed = episode([undefined, scored(1)], [{ metrics: { level: 4 } }]);
    expect(Object.keys(turnMetrics([unnamed])).filter((name) => name.endsWith("level"))).toEqual([]);
  });

  it("accepts an info of any form, and returns only finite numbers", () => {
    const info = fc.jsonValue().map((value) => value as Json);
    const metrics = fc.dictionary(fc.string(), fc.oneof(info, fc.double(), fc.boolean()));
    const infos = fc.array(fc.oneof(info, fc.record({ turn: fc.integer(), metrics })), { maxLength: 4 });
    fc.assert(
      fc.property(infos, fc.integer({ min: 0, max: 4 }), (list, turns) => {
        const played = episode(
          Array.from({ length: turns }, () => scored(1)),
          list as Json[],
        );
        const values = Object.values(turnMetrics([played]));
        expect(values.every(Number.isFinite)).toBe(true);
      }),
    );
  });

  it("leaves out the turns after the tenth", () => {
    const long = episode(Array.from({ length: 40 }, () => scored(1)));
    const names = Object.keys(turnMetrics([long]));
    expect(names).toContain("rollout/turn-10/reward");
    expect(names).toHaveLength(20);
  });
});
