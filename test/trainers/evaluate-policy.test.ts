import { expect, it } from "vitest";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { mixedEnvironment } from "../../src/core/environment/mixed-environment.ts";
import { memoryTaskset } from "../../src/entry-points/tasksets.ts";
import { defineEnvironment, defineParallelEnvironment, type Policy, scriptedPolicy, textOf } from "../../src/index.ts";
import { evaluatePolicy } from "../../trainers/evaluation/evaluate-policy.ts";

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
  const factory = environment(failing);
  return evaluatePolicy({
    environment: factory,
    spec: factory.spec,
    tasks: memoryTaskset("questions", ["a", "b", "c", "d"]),
    policies: policy,
    seed: 1,
  });
}

it("counts failed episodes as not correct, and reports the accuracy over scored episodes", async () => {
  const metrics = await evaluate(
    ["a"],
    scriptedPolicy(({ messages }) => (textOf(messages[0]!) === "b" ? "no" : "yes")),
  );
  expect(metrics).toMatchObject({ accuracy: 0.5, "accuracy/scored": 2 / 3 });
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
  const metrics = await evaluatePolicy({
    environment: game,
    spec: game.spec,
    tasks: memoryTaskset("games", [1, 1, 0, -1]),
    policies: scriptedPolicy(() => "x"),
    seed: 1,
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
  const play = async (opponent: Policy) =>
    evaluatePolicy({
      environment: game,
      spec: game.spec,
      tasks: await game.tasks("train").then((tasks) => Promise.all([0, 1, 2].map((index) => tasks.get(index)))),
      // Each agent has its own model.
      policies: { first: scriptedPolicy(() => "win"), second: scriptedPolicy(() => "win") },
      opponent,
      groupSize: 2,
      seed: 1,
    });
  const weak = await play(scriptedPolicy(() => "lose"));
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
  expect(await play(scriptedPolicy(() => "win"))).toMatchObject({ "reward/mean": 0 });
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
      const tasks = await definition.tasks("train");
      const metrics = await evaluatePolicy({
        environment: definition,
        spec: definition.spec,
        tasks: await Promise.all([0, 1, 2, 3].map((index) => tasks.get(index))),
        policies: scriptedPolicy(({ messages }) => (textOf(messages[0]!) === "b" ? "yes" : "no")),
        seed: 1,
        ...(definition.partOf === undefined ? {} : { partOf: definition.partOf }),
      });
      expect(metrics).toMatchObject({
        accuracy: 0.25,
        "accuracy/scored": 0.25,
        ...(definition.partOf === undefined ? {} : { "accuracy/stating": 0.25 }),
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
