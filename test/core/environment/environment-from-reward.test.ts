import { describe, expect, test } from "vitest";
import type { EnvironmentDefinition } from "../../../src/contract/environment.ts";
import type { Episode } from "../../../src/contract/episode.ts";
import { unscored } from "../../../src/contract/reward.ts";
import { environmentFromReward } from "../../../src/core/environment/environment-from-reward.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { rolloutEpisode } from "../../../src/core/rollout/rollout-episode.ts";

async function play<Task>(environment: EnvironmentDefinition<Task>, answer = "yes"): Promise<Episode> {
  const task = await (await environment.tasks("train")).get(0);
  return rolloutEpisode({ environment, task, policies: scriptedPolicy(() => answer), seed: 1 });
}

describe("criteria instead of a function", () => {
  test("form a rubric and infer the type of their context", async () => {
    const environment = environmentFromReward({
      tasks: [{ answer: "yes" }],
      prompt: ({ answer }) => `Say ${answer}.`,
      reward: [
        { name: "right", score: ({ task, text, signal }) => (text === task.answer && !signal.aborted ? 1 : 0) },
        { name: "short", weight: 0.5, score: async ({ text }) => (text.length < 5 ? 1 : 0) },
        {
          name: "first",
          weight: 0.5,
          scoreGroup: (group) => group.map(({ sampleIndex }) => (sampleIndex === 0 ? 1 : 0)),
        },
        // @ts-expect-error: the task has no such key
        { name: "typed", weight: 0, score: ({ task }) => (task.nothing === undefined ? 1 : 0) },
      ],
    });
    expect(environment.spec.rewardRange).toEqual([0, 2]);
    expect((await play(environment)).agents.agent!.reward).toMatchObject({ value: 2 });
    expect(environment.scoreGroup).toBeDefined();
  });

  test("work for several agents", async () => {
    const environment = environmentFromReward({
      tasks: [{ word: "rain" }],
      prompts: { writer: ({ word }) => word, editor: ({ word }) => word },
      reward: [
        { name: "named", score: ({ task, texts }) => (texts.editor === texts.writer && task.word !== "" ? 1 : 0) },
        // @ts-expect-error: there is no such agent
        { name: "typed", weight: 0, score: ({ texts }) => (texts.reader === undefined ? 1 : 0) },
      ],
    });
    expect((await play(environment)).agents.writer!.reward).toMatchObject({ value: 1 });
  });
});

describe("an environment for one agent from a reward function", () => {
  const base = {
    tasks: [{ question: "Is it?", answer: "yes" }],
    prompt: (task: { question: string }) => task.question,
  };

  test("sends the prompt and returns the function's reward", async () => {
    const environment = environmentFromReward({
      ...base,
      reward: ({ task, text }) => (text === task.answer ? 1 : 0),
      demonstrate: (task) => task.answer,
    });
    expect(environment.spec).toMatchObject({ id: "reward", agents: ["agent"], maxTurns: 1, rewardRange: [0, 1] });
    expect(environment.demonstrate!(base.tasks[0]!)).toEqual([{ agent: "yes" }]);
    const episode = await play(environment);
    expect(episode.agents.agent).toMatchObject({
      nodes: [{ message: { role: "user", content: [{ text: "Is it?" }] } }, {}],
      reward: { value: 1, components: { reward: 1 } },
    });
    expect((await play(environment, "no")).agents.agent!.reward).toMatchObject({ value: 0 });
  });

  test("adds named components", async () => {
    const environment = environmentFromReward({
      ...base,
      id: "parts",
      reward: async () => ({ right: 1, short: 0.25 }),
    });
    expect(environment.spec.id).toBe("parts");
    const { reward } = (await play(environment)).agents.agent!;
    expect(reward).toEqual({ status: "scored", value: 1.25, components: { right: 1, short: 0.25 } });
  });

  test("accepts a complete reward, scored or unscored", async () => {
    const environment = environmentFromReward({ ...base, reward: () => unscored("the judge is out") });
    expect((await play(environment)).agents.agent!.reward).toEqual(unscored("the judge is out"));
  });

  test("is unscored if the function throws because of the infrastructure", async () => {
    const environment = environmentFromReward({
      ...base,
      reward: () => {
        throw Object.assign(new Error("no"), { code: "ECONNREFUSED" });
      },
    });
    expect(await play(environment)).toMatchObject({
      status: "failed",
      agents: { agent: { reward: { status: "unscored" } } },
    });
  });

  test("passes the signal on", async () => {
    const given: unknown[] = [];
    const environment = environmentFromReward({
      ...base,
      reward: ({ signal }) => {
        given.push(signal);
        return 0;
      },
    });
    await play(environment);
    expect(given[0]).toBeInstanceOf(AbortSignal);
  });
});

describe("an environment for several agents from a reward function", () => {
  test("has a prompt function for each agent and a joint reward", async () => {
    const environment = environmentFromReward({
      tasks: (split) => (split === "test" ? ["b"] : ["a"]),
      prompts: { writer: (task: string) => `Write of ${task}.`, editor: (task: string) => `Edit ${task}.` },
      reward: ({ texts }) => (texts.writer === texts.editor ? 1 : 0),
      demonstrate: (task) => ({ writer: task, editor: task }),
    });
    expect(environment).toMatchObject({ splits: ["train", "test"], spec: { agents: ["writer", "editor"] } });
    expect(environment.demonstrate!("a")).toEqual([{ writer: "a", editor: "a" }]);
    const { agents } = await play(environment);
    expect(agents.editor!.nodes[0]!.message.content).toEqual([{ type: "text", text: "Edit a." }]);
    expect([agents.writer!.reward, agents.editor!.reward]).toMatchObject([{ value: 1 }, { value: 1 }]);
  });
});
