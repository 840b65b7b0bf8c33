import { expect, it } from "vitest";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { mixedEnvironment } from "../../src/core/environment/mixed-environment.ts";
import { readEntries, readSummary } from "../../src/evaluation/log/read-log.ts";
import { defineEnvironment, defineParallelEnvironment, type Policy, scriptedPolicy, textOf } from "../../src/index.ts";
import { evaluatePolicies } from "../../trainers/evaluation/evaluate-policies.ts";
import { temporaryFolder } from "../temporary-folder.ts";

/** An environment that fails in the middle of the named tasks. The answer "yes" has reward 1. */
function environment(failing: readonly string[]) {
  return defineEnvironment({
    id: "questions",
    tasks: ["a", "b", "c", "d"],
    reset: ({ task }) => task,
    step: ({ task, text }) => {
      if (failing.includes(task)) throw Object.assign(new Error(`no mark for ${task}`), { code: "ECONNRESET" });
      return { reward: text === "yes" ? 1 : 0 };
    },
  });
}

async function evaluate(failing: readonly string[], policy: Policy): Promise<Record<string, number>> {
  const folder = temporaryFolder();
  const options = { environment: environment(failing), policies: { agent: policy }, seed: 1, folder };
  return (await evaluatePolicies(options)).metrics;
}

it("reports the accuracy over scored episodes, and the one that counts unscored episodes as wrong", async () => {
  const metrics = await evaluate(
    ["a"],
    scriptedPolicy(({ messages }) => (textOf(messages[0]!) === "b" ? "no" : "yes")),
  );
  expect(metrics).toMatchObject({ accuracy: 2 / 3, "accuracy/over-all": 0.5 });
});

it("reports each agent's reward and win rate", async () => {
  const game = defineParallelEnvironment<"first" | "second", number>({
    id: "game",
    agents: ["first", "second"],
    rewardRange: [-1, 1],
    tasks: [1, 1, 0, -1],
    reset: () => ({ first: "go", second: "go" }),
    step: ({ task }) => ({ rewards: { first: task, second: -task } }),
  });
  const player = scriptedPolicy(() => "x");
  const { metrics } = await evaluatePolicies({
    environment: game,
    policies: { first: player, second: player },
    seed: 1,
    folder: temporaryFolder(),
  });
  expect(metrics).toMatchObject({
    "reward/mean": 0,
    "agents/first/reward": 0.25,
    "agents/second/reward": -0.25,
    // A draw is half a win for each agent.
    "agents/first/win-rate": 5 / 8,
    "agents/second/win-rate": 3 / 8,
  });
});

it("plays both sides against an opponent, and excludes the opponent from the metrics", async () => {
  const sides: string[] = [];
  // An agent that says "win" gets 1 from the other. Saying it first gives another 1.
  const game = defineParallelEnvironment<"first" | "second", number>({
    id: "game",
    agents: ["first", "second"],
    rewardRange: [-2, 2],
    tasks: [1, 2, 3],
    reset: () => ({ first: "go", second: "go" }),
    step: ({ texts }) => {
      sides.push(`${texts.first} ${texts.second}`);
      const won = Number(texts.first === "win") * 2 - Number(texts.second === "win");
      return { rewards: { first: won, second: -won } };
    },
  });
  const folder = temporaryFolder();
  const play = async (opponent: Policy, folder: string) => {
    const { metrics } = await evaluatePolicies({
      environment: game,
      // Each agent has its own model.
      policies: { first: scriptedPolicy(() => "win"), second: scriptedPolicy(() => "win") },
      opponent,
      samples: 2,
      seed: 1,
      folder,
    });
    return metrics;
  };
  const weak = await play(
    scriptedPolicy(() => "lose"),
    folder,
  );
  expect(sides.toSorted()).toEqual([...Array(6).fill("lose win"), ...Array(6).fill("win lose")]);
  // The model's reward is 2 as the first agent and 1 as the second.
  expect(weak).toMatchObject({
    "episodes/count": 12,
    "reward/mean": 1.5,
    "agents/first/reward": 2,
    "agents/second/reward": 1,
    accuracy: 0.5,
  });
  expect(weak["agents/first/win-rate"]).toBeUndefined();
  // The stored evaluation has the same accuracy: the model wins with the highest reward as the first agent.
  expect((await readSummary(folder)).metrics.accuracy).toMatchObject({ value: 0.5 });
  const correct = [...(await readEntries(folder)).values()].map((entry) => [entry.sampleIndex % 2, entry.correct]);
  expect(new Set(correct.map(String))).toEqual(new Set(["0,true", "1,false"]));
  const strong = await play(
    scriptedPolicy(() => "win"),
    temporaryFolder(),
  );
  expect(strong).toMatchObject({ "reward/mean": 0 });
});

it("uses the environment's own statement of correctness, not the highest reward", async () => {
  const stating = (worth: number) =>
    defineEnvironment({
      id: "stating",
      tasks: ["a", "b", "c", "d"],
      statesCorrect: true,
      rewardRange: [-1, 1],
      reset: ({ task }) => task,
      step: ({ text }) => ({ reward: text === "yes" ? worth : -worth, correct: text === "yes" }),
    });
  for (const worth of [1, 0.5, 0, -1]) {
    const environments = [stating(worth), mixedEnvironment([{ environment: stating(worth) as EnvironmentDefinition }])];
    for (const definition of environments as EnvironmentDefinition[]) {
      const { metrics } = await evaluatePolicies({
        environment: definition,
        limit: 4,
        policies: { agent: scriptedPolicy(({ messages }) => (textOf(messages[0]!) === "b" ? "yes" : "no")) },
        seed: 1,
        folder: temporaryFolder(),
      });
      expect(metrics).toMatchObject({
        accuracy: 0.25,
        "accuracy/over-all": 0.25,
        ...(definition.environmentOf === undefined ? {} : { "accuracy/stating": 0.25 }),
      });
    }
  }
});

it("throws the first episode's error if every episode failed", async () => {
  await expect(
    evaluate(
      ["a", "b", "c", "d"],
      scriptedPolicy(() => "yes"),
    ),
  ).rejects.toMatchObject({
    code: "environment.failed",
    message: expect.stringMatching(/All 4 episodes failed.*no mark for a/),
  });
});

it("judges each environment of a mixture by its own rule, in the metrics and in the stored evaluation", async () => {
  const rewarding = (id: string, top: number) =>
    defineEnvironment({
      id,
      tasks: ["a", "b"],
      rewardRange: [0, top],
      reset: ({ task }) => task,
      step: ({ task }) => ({ reward: task === "a" ? 1 : 0 }),
    });
  const environments = [rewarding("small", 1), rewarding("large", 2)];
  const mixture = mixedEnvironment(environments.map((one) => ({ environment: one as EnvironmentDefinition })));
  const folder = temporaryFolder();
  const { metrics } = await evaluatePolicies({
    environment: mixture,
    limit: 4,
    policies: { agent: scriptedPolicy(() => "x") },
    folder,
  });
  // A reward of 1 is the highest of the small environment only.
  expect(metrics).toMatchObject({ accuracy: 0.25, "accuracy/small": 0.5, "accuracy/large": 0, "reward/large": 0.5 });
  const { levels, correct } = await readSummary(folder);
  expect(correct).toEqual({ environments: { small: { atLeast: 1 }, large: { atLeast: 2 } } });
  expect(levels.small?.metrics.accuracy?.value).toBe(0.5);
});

it("has the reward and the accuracy of each group of tasks, also within a mixture", async () => {
  const environment = defineEnvironment<string>({
    id: "topics",
    tasks: ["sum", "product", "word"],
    groupOf: (task) => (task === "word" ? "words" : `numbers/${task}`),
    reset: ({ task }) => task,
    step: ({ task }) => ({ reward: task === "sum" ? 1 : 0 }),
  }) as EnvironmentDefinition;
  const policies = { agent: scriptedPolicy(() => "x") };
  const play = async (played: EnvironmentDefinition) => {
    const folder = await temporaryFolder();
    const { metrics } = await evaluatePolicies({ environment: played, limit: 3, policies, folder });
    const groups = Object.entries(metrics).filter(([name]) => /^(reward|accuracy)\/(group|topics)/.test(name));
    return { groups: Object.fromEntries(groups), levels: Object.keys((await readSummary(folder)).levels) };
  };
  const shares = { numbers: 0.5, "numbers/product": 0, "numbers/sum": 1, words: 0 };
  const named = (prefix: string, of: Readonly<Record<string, number>>) =>
    Object.fromEntries(
      ["reward", "accuracy"].flatMap((metric) =>
        Object.entries(of).map(([name, value]) => [`${metric}/${prefix}${name}`, value]),
      ),
    );
  expect(await play(environment)).toEqual({ groups: named("group/", shares), levels: Object.keys(shares) });
  const mixed = await play(mixedEnvironment([{ environment }]));
  expect(mixed.levels).toEqual(["topics", ...Object.keys(shares).map((name) => `topics/${name}`)]);
  expect(mixed.groups).toMatchObject({ ...named("topics/", shares), "reward/topics": expect.closeTo(1 / 3, 12) });
});

it("leaves frozen agents out of the correctness of an episode", async () => {
  const team = defineParallelEnvironment<"writer" | "critic", string>({
    id: "team",
    agents: ["writer", "critic"],
    tasks: ["a"],
    reset: () => ({ writer: "go", critic: "go" }),
    step: () => ({ rewards: { writer: 1, critic: 0 } }),
  });
  const player = scriptedPolicy(() => "x");
  const play = async (frozen: readonly string[]) => {
    const policies = { writer: player, critic: player };
    const options = { environment: team, policies, frozen, folder: temporaryFolder() };
    return (await evaluatePolicies(options)).metrics.accuracy;
  };
  expect([await play([]), await play(["critic"])]).toEqual([0, 1]);
});
