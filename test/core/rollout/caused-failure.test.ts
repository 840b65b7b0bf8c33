import { describe, expect, test } from "vitest";
import type { EnvironmentFactory } from "../../../src/contract/environment.ts";
import type { Episode } from "../../../src/contract/episode.ts";
import { LyceumError } from "../../../src/contract/errors/index.ts";
import { defineEnvironment } from "../../../src/core/environment/define-environment.ts";
import { defineParallelEnvironment } from "../../../src/core/environment/define-parallel-environment.ts";
import { environmentFromReward } from "../../../src/core/environment/environment-from-reward.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { EpisodeWarnings } from "../../../src/core/rollout/episode-warnings.ts";
import { jointRollout } from "../../../src/core/rollout/joint-rollout.ts";
import { rolloutGroup } from "../../../src/core/rollout/rollout-group.ts";
import { isCorrect, isUnscored } from "../../../src/evaluation/correctness.ts";
import { rolloutMetrics } from "../../../trainers/metrics/rollout-metrics.ts";
import { throwIfAllFailed } from "../../../trainers/rollouts/failed-batch.ts";

const rewardRange = [-2, 3] as const;
const tasks = [{ question: "?" }];

/** Reads each answer as JSON. Its reward is `n`. The episode continues after the first turn. */
const reader = defineEnvironment<{ question: string }>({
  id: "reader",
  tasks,
  rewardRange,
  maxTurns: 2,
  deterministic: true,
  reset: ({ task }) => task.question,
  step: ({ text, turn }) => {
    const { n } = JSON.parse(text) as { n: number };
    return turn === 0 && n !== 0 ? { reward: 1, reply: "more" } : { reward: n };
  },
});

async function play(environment: EnvironmentFactory<never>, ...texts: readonly string[]): Promise<Episode> {
  const entry = { index: 0, id: "0", hash: "h", task: { question: "?" } as never };
  const { episodes } = await rolloutGroup({ environment, task: entry, policies: scriptedPolicy(texts), seed: 1 });
  return episodes[0]!;
}

describe("a step that throws because of the policy's answer", () => {
  test.each([
    ["in the first turn", ["no JSON"], 1],
    ["after a reward", ['{"n":1}', "no JSON"], 2],
    ["on null", ["null"], 1],
  ] as const)("%s gets the lowest reward of the range, and is counted", async (_, texts, actions) => {
    const episode = await play(reader, ...texts);
    const { reward, turns } = episode.agents.agent!;
    expect(episode).toMatchObject({ status: "failed", error: { code: "environment.failed" } });
    expect(reward).toMatchObject({ status: "scored", value: -2 });
    expect(turns).toHaveLength(actions);
    expect(turns.reduce((sum, turn) => sum + (turn.reward?.status === "scored" ? turn.reward.value : NaN), 0)).toBe(-2);
    expect([isUnscored(episode), isCorrect(episode, { atLeast: 3 })]).toEqual([false, false]);
    const groups = [{ task: episode.task, episodes: [episode] }];
    expect(rolloutMetrics(groups, { rewardRange })).toMatchObject({
      "reward/mean": -2,
      "episodes/failed": 1,
      "episodes/unscored": 0,
      "episodes/caused-failure": 1,
    });
    // If every episode of a batch has such a failure, the environment itself is wrong.
    expect(() => throwIfAllFailed(groups)).toThrow("All 1 episodes failed");
    const good = await play(reader, '{"n":1}', '{"n":1}');
    expect(() => throwIfAllFailed([...groups, { task: good.task, episodes: [good] }])).not.toThrow();
  });

  test("causes one warning, with file and line", async () => {
    const episode = await play(reader, "no JSON");
    const warnings = new EpisodeWarnings(reader);
    expect(warnings.of([episode, episode])).toEqual([
      expect.stringMatching(
        /^Task "0", turn 0: Environment "reader" threw in step: SyntaxError: .*\(test\/core\/rollout\/caused-failure\.test\.ts:\d+:\d+\)/,
      ),
    ]);
    expect(warnings.of([episode])).toEqual([]);
  });

  test("is scored only for agents that acted, and the others keep their rewards", async () => {
    const environment = defineParallelEnvironment<"a" | "b", { question: string }>({
      id: "turns",
      tasks,
      rewardRange,
      maxTurns: 2,
      agents: ["a", "b"],
      reset: () => ({ a: "you" }),
      step: ({ texts, turn }) => {
        if (turn === 0) return { rewards: { a: 1 }, replies: { b: "and you" } };
        throw new Error(texts.b);
      },
    });
    const { agents } = await play(environment, "x", "y");
    expect([agents.a!.reward, agents.b!.reward]).toMatchObject([{ value: 1 }, { value: -2 }]);
  });
});

describe("a task whose demonstration fails like the answer", () => {
  interface Sum {
    readonly question: string;
    /** Missing in a task with a mistake. */
    readonly answer?: number;
  }
  const sum: Sum = { question: "1 + 1", answer: 2 };
  const broken: Sum = { question: "1 + 2" };
  /** Continues after the first answer. The reward of the second turn is the sum of both answers. */
  const sums = (options: { readonly demonstrates: boolean }): EnvironmentFactory<never> =>
    defineEnvironment<Sum, { first: string }>({
      id: "sums",
      tasks: [sum],
      rewardRange,
      maxTurns: 2,
      deterministic: true,
      reset: ({ task }) => ({ prompt: task.question, state: { first: "" } }),
      step: ({ task, text, turn, state }) => {
        if (turn === 0) return { state: { first: text }, reply: "Sure?" };
        const wanted = task.answer!.toFixed();
        const first = state.first.match(/\d+/)![0];
        return { reward: first === wanted && text === "yes" ? 1 : 0 };
      },
      ...(options.demonstrates ? { demonstrate: ({ answer }) => [`${answer ?? 3}`, "yes"] } : {}),
    });
  const playSum = async (options: {
    readonly task: Sum;
    readonly texts: readonly string[];
    readonly demonstrates: boolean;
  }): Promise<Episode> => {
    const entry = { index: 0, id: "0", hash: "h", task: options.task as never };
    const environment = sums(options);
    const { episodes } = await rolloutGroup({
      environment,
      task: entry,
      policies: scriptedPolicy(options.texts),
      seed: 1,
    });
    return episodes[0]!;
  };

  test("is unscored for any answer, with a warning that names file and line", async () => {
    for (const texts of [
      ["3", "yes"],
      ["no number", "no"],
    ]) {
      const episode = await playSum({ task: broken, texts, demonstrates: true });
      expect(episode).toMatchObject({ status: "failed", error: { code: "environment.failed" } });
      expect(isUnscored(episode)).toBe(true);
      expect(rolloutMetrics([{ task: episode.task, episodes: [episode] }], { rewardRange })).toMatchObject({
        "episodes/unscored": 1,
        "episodes/caused-failure": 0,
      });
      const warnings = new EpisodeWarnings(reader);
      expect(warnings.of([episode, episode])).toEqual([
        expect.stringMatching(
          /^Task "0", turn 1: .* TypeError: .*\(test\/core\/rollout\/caused-failure\.test\.ts:\d+:\d+\)\. The demonstration of the task fails in the same way/,
        ),
      ]);
    }
  });

  test("cannot be faked by a policy: its earlier answers are not part of the canary", async () => {
    // After this first answer, every second one fails.
    const episode = await playSum({ task: sum, texts: ["no number", "yes"], demonstrates: true });
    expect(episode.agents.agent!.reward).toMatchObject({ status: "scored", value: -2 });
    const [warning] = new EpisodeWarnings(reader).of([episode]);
    expect(warning).not.toContain("demonstration");
  });

  test.each([
    ["a good task", sum, ["no number", "yes"]],
    ["a broken task", broken, ["3", "yes"]],
  ] as const)("without a demonstration, an answer that fails on %s like an empty one is scored", async (_, task, texts) => {
    const episode = await playSum({ task, texts, demonstrates: false });
    expect(episode.agents.agent!.reward).toMatchObject({ status: "scored", value: -2 });
    const [warning] = new EpisodeWarnings(reader).of([episode]);
    expect(warning).toContain("An empty answer fails in the same way");
  });

  test("without a demonstration, an answer is scored if an empty answer works", async () => {
    const environment = environmentFromReward({
      tasks,
      rewardRange,
      prompt: () => "?",
      reward: ({ text }) => (text === "" ? 0 : JSON.parse(text)),
    });
    const episode = await play(environment, "no JSON");
    expect(episode.agents.agent!.reward).toMatchObject({ status: "scored", value: -2 });
    expect(new EpisodeWarnings(environment).of([episode])[0]).not.toContain("An empty answer");
  });

  test("is unscored in a joint rollout too", async () => {
    for (const [task, reward] of [
      [broken, { status: "unscored" }],
      [sum, { status: "scored", value: -2 }],
    ] as const) {
      const trees = jointRollout({
        environment: sums({ demonstrates: true }),
        tasks: [{ index: 0, id: "0", hash: "h", task: task as never }],
        policies: scriptedPolicy(() => "no number"),
        shape: { mode: "align", groupSize: 1, turns: "tree" },
        seed: 1,
      });
      for await (const { root } of trees) {
        const last = root!.jointActions[0]!.child!.jointActions[0]!;
        expect(last.rewards.agent).toMatchObject(reward);
      }
    }
  });
});

describe("a reward that is not finite", () => {
  const numbers = (demonstrated: string | undefined, reward = (text: string) => Number(text)) =>
    environmentFromReward<{ question: string }>({
      tasks,
      rewardRange,
      prompt: () => "?",
      reward: ({ text }) => reward(text),
      ...(demonstrated === undefined ? {} : { demonstrate: () => demonstrated }),
    });

  test.each([
    ["of one answer", numbers(undefined)],
    ["of one answer, and not of the demonstration", numbers("1")],
    ["of this and an empty answer", numbers(undefined, (text) => Number.parseFloat(text))],
  ])("%s gets the lowest reward", async (_, environment) => {
    const episode = await play(environment, "one");
    expect(episode).toMatchObject({ status: "failed", error: { code: "environment.contract" } });
    expect(episode.agents.agent!.reward).toMatchObject({ status: "scored", value: -2 });
    expect(new EpisodeWarnings(environment).of([episode])[0]).toMatch(
      /NaN .*\(test\/core\/rollout\/caused-failure\.test\.ts:/,
    );
  });

  test("for the demonstration too leaves the episode unscored", async () => {
    const episode = await play(
      numbers("1", () => Number.NaN),
      "one",
    );
    expect(isUnscored(episode)).toBe(true);
    expect(new EpisodeWarnings(reader).of([episode])[0]).toContain("The demonstration of the task fails");
  });
});

describe("a failure that the policy does not cause stays unscored", () => {
  const failing = (step: (attempt: number) => unknown): EnvironmentFactory<never> => {
    let attempts = 0;
    return defineEnvironment<{ question: string }>({
      id: "failing",
      tasks,
      rewardRange,
      maxTurns: 1,
      reset: () => "?",
      step: () => {
        throw step(++attempts);
      },
    });
  };
  const range = (low: number): EnvironmentFactory<never> =>
    environmentFromReward({
      tasks,
      rewardRange: [low, 1],
      prompt: () => "?",
      reward: () => {
        throw new Error("Always.");
      },
    });

  test.each([
    ["another error each time", failing((attempt) => (attempt === 1 ? new RangeError("x") : new TypeError("x")))],
    ["a server that does not answer", failing(() => Object.assign(new Error("connect"), { code: "ECONNREFUSED" }))],
    ["a fetch that fails", failing(() => new TypeError("fetch failed"))],
    ["a judge that fails", failing(() => new LyceumError({ code: "policy.unavailable", message: "Busy." }))],
    [
      "a judge's failure behind another error",
      failing(() => new Error("x", { cause: new LyceumError({ code: "policy.unavailable", message: "Busy." }) })),
    ],
    ["a time limit", failing(() => new DOMException("late", "TimeoutError"))],
    ["a range without a lowest", range(Number.NEGATIVE_INFINITY)],
  ])("%s", async (_, environment) => {
    const episode = await play(environment, "text");
    expect(episode.status).toBe("failed");
    expect(episode.agents.agent!.reward.status).toBe("unscored");
    expect(() => throwIfAllFailed([{ task: episode.task, episodes: [episode] }])).toThrow("All 1 episodes failed");
  });

  test("a step that fails once, and not when it is repeated", async () => {
    let attempts = 0;
    const environment = environmentFromReward({
      tasks,
      prompt: () => "?",
      reward: () => {
        if (++attempts === 1) throw new Error("Once.");
        return 1;
      },
    });
    const episode = await play(environment, "text");
    expect(episode.agents.agent!.reward.status).toBe("unscored");
    expect(attempts).toBe(2);
  });
});

describe("a criterion", () => {
  const criteria = (score: (context: { text: string }) => number): EnvironmentFactory<never> =>
    environmentFromReward<{ question: string }>({
      tasks,
      prompt: () => "?",
      reward: [
        { name: "fine", score: () => 1 },
        { name: "bad", weight: 2, range: [-1, 1], score },
        {
          name: "penalty",
          weight: -1,
          score: ({ text }: { text: string }) => (text === "throw" ? JSON.parse(text) : 0),
        },
      ],
    });

  test.each([
    ["that throws", "throw", 1 - 2 - 1],
    ["that leaves its range", "7", 1 - 2],
    ["that gives no number", "x", 1 - 2],
    ["that is fine", "0.5", 1 + 1],
  ])("%s on an answer has the lowest score of its range", async (_, text, value) => {
    const environment = criteria((context) =>
      context.text === "throw" ? JSON.parse(context.text) : Number(context.text),
    );
    const episode = await play(environment, text);
    const { reward } = episode.agents.agent!;
    expect(episode.status).toBe("completed");
    expect(reward).toMatchObject({ status: "scored", value });
    const warnings = new EpisodeWarnings({ spec: environment.spec }).of([episode]);
    expect(warnings).toHaveLength(text === "0.5" ? 0 : 1);
    if (text !== "0.5")
      expect(warnings[0]).toMatch(/Criterion "bad" .*\(test\/core\/rollout\/caused-failure\.test\.ts:\d+/);
  });

  test("whose server does not answer, or that fails once, leaves the answer unscored", async () => {
    let asked = 0;
    const away = criteria(() => {
      asked++;
      throw Object.assign(new Error("connect"), { code: "ENOTFOUND" });
    });
    expect((await play(away, "x")).agents.agent!.reward.status).toBe("unscored");
    expect(asked).toBe(1);
    let failures = 0;
    const once = criteria(() => {
      if (++failures === 1) throw new Error("Once.");
      return 1;
    });
    expect((await play(once, "x")).agents.agent!.reward).toMatchObject({ status: "scored", value: 3 });
  });
});

test("in a joint rollout, only the joint action that makes a step throw gets the lowest reward", async () => {
  const entry = { index: 0, id: "0", hash: "h", task: { question: "?" } };
  let asked = 0;
  const trees = jointRollout({
    environment: reader,
    tasks: [entry],
    policies: scriptedPolicy(() => (asked++ === 0 ? '{"n":2}' : "no JSON")),
    shape: { mode: "align", groupSize: 2, turns: "tree" },
    seed: 1,
    limits: { turns: 1 },
  });
  for await (const { root } of trees) {
    expect(root!.jointActions.map(({ rewards }) => rewards.agent)).toMatchObject([
      { status: "scored", value: 1 },
      { status: "scored", value: -2, failure: { code: "environment.failed" } },
    ]);
  }
});
