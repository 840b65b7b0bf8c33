import { describe, expect, test } from "vitest";
import type { Episode } from "../../../src/contract/episode.ts";
import { textOf } from "../../../src/contract/message.ts";
import { scored, unscored } from "../../../src/contract/reward.ts";
import { defineEnvironment } from "../../../src/core/environment/define-environment.ts";
import { environmentFromReward } from "../../../src/core/environment/environment-from-reward.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { EpisodeWarnings } from "../../../src/core/rollout/episode-warnings.ts";
import { rolloutGroup } from "../../../src/core/rollout/rollout-group.ts";
import type { AnswerCriterion, Criterion, GroupCriterion } from "../../../src/core/rubric/criterion.ts";
import { type Rubric, rubric } from "../../../src/core/rubric/rubric.ts";

interface Answer {
  readonly text: string;
}

const right: Criterion<Answer> = { name: "right", score: ({ text }) => (text.includes("4") ? 1 : 0) };
const short: Criterion<Answer> = {
  name: "short",
  weight: -0.5,
  range: [0, 10],
  score: async ({ text }) => Math.min(10, text.length),
};

/** The error of a server that does not answer. */
function away(message: string): Error {
  return Object.assign(new Error(message), { code: "ECONNREFUSED" });
}

function withScore(
  score: AnswerCriterion<Answer>["score"],
  more: Partial<AnswerCriterion<Answer>> = {},
): Rubric<Answer> {
  return rubric<Answer>([right, { name: "other", score, ...more }]);
}

describe("a rubric", () => {
  test("sums weighted scores, with one component per criterion, and has the range of the sum", async () => {
    const both = rubric([right, short]);
    expect(both.range).toEqual([-5, 1]);
    expect(both).not.toHaveProperty("scoreGroup");
    expect(await both.score({ text: "it is 4" })).toEqual(scored(1 - 3.5, { right: 1, short: -3.5 }));
    expect(JSON.stringify(await rubric([short]).score({ text: "" }))).toContain('"short":0}');
  });

  test.each<[string, AnswerCriterion<Answer>["score"], RegExp]>([
    [
      "throws",
      () => {
        throw away("no server");
      },
      /"other" failed: no server/,
    ],
    ["rejects", () => Promise.reject(away("no server")), /"other" failed: no server/],
    ["gives nothing", () => undefined as never, /"other" gave no number/],
    ["is unscored", () => unscored("no judge"), /"other": no judge/],
  ])("is unscored if a criterion %s", async (_, score, reason) => {
    const reward = await withScore(score).score({ text: "4" });
    expect(reward).toEqual({ ...reward, status: "unscored", reason: expect.stringMatching(reason) });
  });

  test("names the first failing criterion in order, whichever fails first in time", async () => {
    const slow = async (): Promise<number> => {
      await new Promise((resolve) => setImmediate(resolve));
      throw away("slow");
    };
    const fast = (): number => {
      throw away("fast");
    };
    const judged = rubric([
      { name: "a", score: slow },
      { name: "b", score: fast },
    ]);
    expect(await judged.score({})).toMatchObject({ reason: 'Criterion "a" failed: slow' });
  });

  test("aborts a criterion at its timeout", async () => {
    let stopped = false;
    const reward = await withScore(
      ({ signal }) =>
        new Promise(() => {
          signal.addEventListener("abort", () => {
            stopped = true;
          });
        }),
      { limitMs: 5 },
    ).score({ text: "4" });
    expect(reward).toMatchObject({ status: "unscored", error: { code: "timeout" } });
    expect(stopped).toBe(true);
  });

  test("runs all criteria concurrently", async () => {
    let waiting = 0;
    const all = Promise.withResolvers<void>();
    const meet = async (): Promise<number> => {
      waiting += 1;
      if (waiting === 3) all.resolve();
      await all.promise;
      return 1;
    };
    const criteria = ["a", "b", "c"].map((name) => ({ name, score: meet }));
    expect(await rubric(criteria).score({})).toMatchObject({ value: 3 });
  });

  test("rejects if its signal aborts, and aborts the criteria", async () => {
    const controller = new AbortController();
    const reason = new Error("enough");
    let seen: unknown;
    const score = withScore(
      ({ signal }) =>
        new Promise(() => {
          signal.addEventListener("abort", () => {
            seen = signal.reason;
          });
          controller.abort(reason);
        }),
    ).score({ text: "4", signal: controller.signal });
    await expect(score).rejects.toBe(reason);
    expect(seen).toBe(reason);
    await expect(withScore(() => 1).score({ text: "", signal: controller.signal })).rejects.toBe(reason);
  });

  test.each<[string, readonly Criterion<object>[]]>([
    ["no criteria", []],
    [
      "two of one name",
      [
        { name: "a", score: () => 1 },
        { name: "a", score: () => 1 },
      ],
    ],
    ["a weight that is no number", [{ name: "a", weight: Number.NaN, score: () => 1 }]],
    ["a range out of order", [{ name: "a", range: [1, 0], score: () => 1 }]],
    ["an endless range", [{ name: "a", range: [0, Infinity], score: () => 1 }]],
    ["a limit of 0", [{ name: "a", limitMs: 0, score: () => 1 }]],
  ])("cannot have %s", (_, criteria) => {
    expect(() => rubric(criteria)).toThrow(expect.objectContaining({ code: "config.invalid" }));
  });
});

describe("criteria of a group", () => {
  const unlike: Criterion<Answer> = {
    name: "unlike",
    weight: 0.5,
    scoreGroup: (group) => {
      const texts = group.map(answerOf);
      return texts.map((text) => (texts.filter((other) => other === text).length === 1 ? 1 : 0));
    },
  };
  const base = { tasks: ["2 + 2"], prompt: (task: string) => task };
  const answers = scriptedPolicy(({ episode }) => ["4", "four", "4"][episode!.sampleIndex]!);

  async function play(judged: Rubric<Answer>): Promise<readonly Episode[]> {
    const environment = environmentFromReward({ ...base, reward: judged });
    expect(environment.spec.rewardRange).toEqual(judged.range);
    const task = await (await environment.tasks("train")).get(0);
    return (await rolloutGroup({ environment, task, policies: answers, groupSize: 3, seed: 1 })).episodes;
  }

  test("see all episodes, and add to their rewards", async () => {
    const judged = rubric([right, unlike]);
    expect(judged.range).toEqual([0, 1.5]);
    const rewards = (await play(judged)).map(({ agents }) => agents.agent!.reward);
    expect(rewards).toEqual([
      scored(1, { right: 1, unlike: 0 }),
      scored(0.5, { right: 0, unlike: 0.5 }),
      scored(1, { right: 1, unlike: 0 }),
    ]);
  });

  test("can score by agent, and leave an agent unscored", async () => {
    const none: Record<string, number> = {};
    const judged = rubric<Answer>([right, { name: "group", scoreGroup: () => [{ agent: 1 }, unscored("odd"), none] }]);
    const rewards = (await play(judged)).map(({ agents }) => agents.agent!.reward);
    expect(rewards[0]).toEqual(scored(2, { right: 1, group: 1 }));
    expect(rewards[1]).toMatchObject({ status: "unscored", reason: 'Criterion "group": odd' });
    expect(rewards[2]).toMatchObject({ status: "unscored", reason: 'Criterion "group" gave no number.' });
  });

  const once = (): ((scores: readonly number[]) => readonly number[]) => {
    let asked = 0;
    return (scores) => {
      if (++asked === 1) throw new Error("Once.");
      return scores;
    };
  };

  test.each<[string, GroupCriterion["scoreGroup"]]>([
    [
      "loses its server",
      () => {
        throw away("no server");
      },
    ],
    ["gives too few", () => [1]],
    ["gives no numbers", () => ["1", "1", "1"] as never],
  ])("leave the group unscored if one %s", async (_, scoreGroup) => {
    const episodes = await play(rubric<Answer>([right, { name: "group", scoreGroup }]));
    expect(episodes.map(({ agents }) => agents.agent!.reward.status)).toEqual(Array(3).fill("unscored"));
  });

  test.each<[string, GroupCriterion["scoreGroup"], readonly number[]]>([
    ["on one answer", (group) => group.map((episode) => (answerOf(episode) === "four" ? fail() : 1)), [2, -1, 2]],
    ["on some", (group) => group.map((episode) => (answerOf(episode) === "4" ? fail() : 1)), [0, 1, 0]],
    ["on all", () => fail(), [0, -1, 0]],
    ["on several together", (group) => (group.length > 1 ? fail() : [1]), [0, -1, 0]],
    [
      "once",
      (
        (scores) => () =>
          scores([1, 1, 1])
      )(once()),
      [2, 1, 2],
    ],
  ])("that throw %s: the answers that cause it have the worst score", async (_, scoreGroup, values) => {
    const judged = rubric<Answer>([right, { name: "group", range: [-1, 1], scoreGroup }]);
    const episodes = await play(judged);
    const rewards = episodes.map(({ agents }) => agents.agent!.reward);
    expect(rewards).toMatchObject(values.map((value) => ({ status: "scored", value })));
    const warnings = new EpisodeWarnings({ spec: environmentFromReward({ ...base, reward: judged }).spec }).of(
      episodes,
    );
    expect(warnings).toEqual(
      values.includes(0) || values.includes(-1)
        ? [expect.stringMatching(/Criterion "group" failed: .* \(test\/core\/rubric\/rubric\.test\.ts:\d+:\d+\)/)]
        : [],
    );
  });

  test.each<[string, GroupCriterion["scoreGroup"], readonly number[]]>([
    ["NaN", (group) => group.map((episode) => Number(answerOf(episode)) / 4), [2, -1, 2]],
    ["2", () => [2, 1, 1], [0, 1, 2]],
    ["NaN for an agent", (group) => group.map((episode) => ({ agent: Number(answerOf(episode)) / 4 })), [2, -1, 2]],
    ["NaN once", ((numbers) => () => [1, numbers.pop() ?? 1, 1])([Number.NaN]), [2, 1, 2]],
  ])("that give one answer %s have the worst score for it", async (_, scoreGroup, values) => {
    const episodes = await play(rubric<Answer>([right, { name: "group", range: [-1, 1], scoreGroup }]));
    const rewards = episodes.map(({ agents }) => agents.agent!.reward);
    expect(rewards).toMatchObject(values.map((value) => ({ status: "scored", value })));
  });
});

test("a rubric judges within a step", async () => {
  const judged = rubric([right, short]);
  const environment = defineEnvironment({
    id: "steps",
    tasks: ["2 + 2"],
    rewardRange: judged.range,
    reset: ({ task }) => task,
    step: async ({ text, signal }) => ({ reward: await judged.score({ text, signal }) }),
  });
  const task = await (await environment.tasks("train")).get(0);
  const group = await rolloutGroup({ environment, task, policies: scriptedPolicy(["4"]), seed: 1 });
  expect(group.episodes[0]!.agents.agent!.reward).toEqual(scored(0.5, { right: 1, short: -0.5 }));
});

function fail(): never {
  throw new Error("No.");
}

function answerOf({ agents }: Episode): string {
  const { nodes, turns } = agents.agent!;
  return textOf(nodes[turns[0]!.node]!.message);
}
