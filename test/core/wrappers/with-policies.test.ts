import { describe, expect, test } from "vitest";
import type { EnvironmentDefinition } from "../../../src/contract/environment.ts";
import type { Episode } from "../../../src/contract/episode.ts";
import { textOf } from "../../../src/contract/message.ts";
import type { ActRequest, Policy } from "../../../src/contract/policy.ts";
import { unscored } from "../../../src/contract/reward.ts";
import { defineParallelEnvironment } from "../../../src/core/environment/define-parallel-environment.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { rolloutEpisode } from "../../../src/core/rollout/rollout-episode.ts";
import { withPolicies } from "../../../src/core/wrappers/with-policies.ts";

/** A user who wants a table for some people, and a waiter who asks until he can book the table. */
const restaurant = defineParallelEnvironment({
  id: "restaurant",
  agents: ["waiter", "user"],
  tasks: [2, 5],
  maxTurns: 7,
  reset: ({ task }) => ({
    prompts: { user: `You want a table for ${task}. Greet the waiter; tell the number only when asked.` },
    state: { next: "waiter" as "waiter" | "user" },
  }),
  step: ({ task, texts, state, turn }) => {
    if (state.next === "user") {
      const booked = /^book (\d+)$/.exec(texts.waiter);
      if (booked !== null) return { rewards: { waiter: Number(booked[1]) === task ? 1 : 0, user: 0 } };
    }
    const said = texts[state.next === "waiter" ? "user" : "waiter"];
    const listener = state.next;
    state.next = listener === "waiter" ? "user" : "waiter";
    return {
      replies: { [listener]: said },
      rewards: turn === 0 ? { waiter: 0 } : {},
      info: { turn },
    };
  },
});

const user: Policy = scriptedPolicy(({ messages }) => {
  const people = /table for (\d+)/.exec(textOf(messages[0]!))![1];
  return textOf(messages.at(-1)!).includes("many") ? `For ${people}, please.` : "Hello!";
});

const waiter: Policy = scriptedPolicy(({ messages }) => {
  const people = /For (\d+)/.exec(textOf(messages.at(-1)!));
  return people === null ? "How many are you?" : `book ${people[1]}`;
});

async function play<Task>(
  environment: EnvironmentDefinition<Task>,
  policies: Policy,
  more: { readonly signal?: AbortSignal; readonly index?: number } = {},
): Promise<Episode> {
  const task = await (await environment.tasks("train")).get(more.index ?? 0);
  return rolloutEpisode({ environment, task, policies, seed: 1, ...more });
}

/** A user who never answers. Records whether its signal aborted. `onAsked` is called when it is asked. */
function silentUser(onAsked: () => void = () => {}) {
  const silent = { policy: { ...user }, stopped: false };
  silent.policy.act = ({ signal }) =>
    new Promise(() => {
      signal!.addEventListener("abort", () => {
        silent.stopped = true;
      });
      onAsked();
    });
  return silent;
}

describe("a simulated user", () => {
  const environment = withPolicies(restaurant, { user });

  test("leaves only the waiter in the spec", () => {
    expect(environment.spec).toEqual({ ...restaurant.spec, agents: ["waiter"], deterministic: false });
    expect(withPolicies(restaurant, { user }, { deterministic: true }).spec.deterministic).toBe(true);
    expect(environment).not.toHaveProperty("demonstrate");
  });

  test.each([0, 1])("talks with the waiter until the table is booked (task %i)", async (index) => {
    const episode = await play(environment, waiter, { index });
    expect(episode).toMatchObject({ status: "completed", turns: 2, info: [[{ turn: 0 }, { turn: 1 }, { turn: 2 }]] });
    expect(Object.keys(episode.agents)).toEqual(["waiter"]);
    expect(episode.agents.waiter!.reward).toMatchObject({ status: "scored", value: 1 });
    const said = episode.agents.waiter!.nodes.map(({ message }) => textOf(message));
    const people = index === 0 ? 2 : 5;
    expect(said).toEqual(["Hello!", "How many are you?", `For ${people}, please.`, `book ${people}`]);
  });

  test("sees only its own conversation, with its own reproducible seeds", async () => {
    const seen: ActRequest[] = [];
    const watched = scriptedPolicy((request) => {
      seen.push(request);
      return "Hello!";
    });
    const bored = scriptedPolicy(["a", "b", "book 2"]);
    await play(withPolicies(restaurant, { user: watched }), bored);
    const conversation = seen.map(({ messages }) => messages.map((message) => `${message.role}: ${textOf(message)}`));
    expect(conversation[2]!.slice(1)).toEqual(["assistant: Hello!", "user: a", "assistant: Hello!", "user: b"]);
    const seeds = seen.splice(0).map(({ seed }) => seed);
    expect(new Set(seeds).size).toBe(3);
    await play(withPolicies(restaurant, { user: watched }), bored);
    expect(seen.map(({ seed }) => seed)).toEqual(seeds);
  });

  test("lets a policy play the other agent as well", async () => {
    const episode = await play(withPolicies(restaurant, { waiter }), user);
    expect(Object.keys(episode.agents)).toEqual(["user"]);
    expect(episode).toMatchObject({ status: "completed", turns: 2 });
  });

  test("starts again with a reset", async () => {
    const instance = await environment.create();
    const start = { task: 5, seed: 3 };
    const first = await instance.reset(start);
    await instance.step({ waiter: { message: { role: "assistant", content: [] }, finish: "stop" } });
    expect(await instance.reset(start)).toEqual(first);
    await instance.close();
    await instance.close();
  });
});

describe("a policy that fails", () => {
  test("fails the episode, which is unscored", async () => {
    const broken = scriptedPolicy(() => {
      throw new Error("no server");
    });
    const episode = await play(withPolicies(restaurant, { user: broken }), waiter);
    expect(episode).toMatchObject({ status: "failed", error: { code: "policy.failed" } });
    expect(episode.error!.message).toContain("no server");
    expect(episode.agents.waiter!.reward.status).toBe("unscored");
  });

  test("in the middle also fails the episode, and the instance plays the next one", async () => {
    let calls = 0;
    const shaky = scriptedPolicy(() => {
      calls += 1;
      if (calls === 2) throw new Error("once");
      return "For 2";
    });
    const instance = await withPolicies(restaurant, { user: shaky }).create();
    const action = { message: { role: "assistant", content: [] }, finish: "stop" } as const;
    await instance.reset({ task: 2, seed: 1 });
    await expect(instance.step({ waiter: action })).rejects.toMatchObject({ code: "policy.failed" });
    await expect(instance.step({ waiter: action })).rejects.toMatchObject({ code: "environment.contract" });
    await instance.reset({ task: 2, seed: 1 });
    expect((await instance.step({ waiter: action })).observations).toHaveProperty("waiter");
  });

  test("by an answer that ended in an error also fails the episode", async () => {
    const cut = scriptedPolicy(() => ({ message: { role: "assistant", content: [] }, finish: "error" }));
    const episode = await play(withPolicies(restaurant, { user: cut }), waiter);
    expect(episode).toMatchObject({ status: "failed", error: { code: "policy.failed" } });
  });

  test("by not answering is stopped at its timeout", async () => {
    const silent = silentUser();
    const episode = await play(withPolicies(restaurant, { user: silent.policy }, { actMs: 5 }), waiter);
    expect(episode).toMatchObject({ status: "failed", error: { code: "timeout" } });
    expect(silent.stopped).toBe(true);
  });

  test("to end is stopped by an abort", async () => {
    const controller = new AbortController();
    const silent = silentUser(() => controller.abort());
    const instance = await withPolicies(restaurant, { user: silent.policy }).create();
    await expect(instance.reset({ task: 2, seed: 1, signal: controller.signal })).rejects.toMatchObject({
      code: "aborted",
    });
    expect(silent.stopped).toBe(true);
  });
});

describe("agents that act at the same time", () => {
  const team = defineParallelEnvironment({
    id: "sum",
    agents: ["a", "b", "c"],
    tasks: [6],
    maxTurns: 2,
    rewardRange: [0, 9],
    reset: () => ({ a: "a number", b: "a number", c: "a number" }),
    step: ({ texts, turn }) => {
      const sum = Number(texts.a) + Number(texts.b) + Number(texts.c);
      return turn === 0 ? { rewards: { a: 1, b: 2, c: 3 }, replies: { b: `${sum}` } } : { reward: 1 };
    },
  });

  test("act together with policy-played agents, and receive the rewards from the steps in between", async () => {
    const environment = withPolicies(team, { b: scriptedPolicy(["1", "2"]), c: scriptedPolicy(["3"]) });
    const episode = await play(environment, scriptedPolicy(["2"]));
    expect(episode).toMatchObject({ status: "completed", turns: 1 });
    expect(Object.keys(episode.agents)).toEqual(["a"]);
    expect(episode.agents.a!.reward).toMatchObject({ value: 2 });
  });

  test("must leave one agent open; unknown agents are named", () => {
    const policy = scriptedPolicy(["1"]);
    expect(() => withPolicies(team, { a: policy, b: policy, c: policy })).toThrow(/No agent is left/);
    expect(() => withPolicies(restaurant, { usr: policy })).toThrow(/Unknown agent "usr"/);
    expect(() => withPolicies(team, { a: policy }, { actMs: 0 })).toThrow(/actMs/);
  });

  test("fail if the episode ends before an open agent acts", async () => {
    const environment = defineParallelEnvironment({
      id: "first",
      agents: ["a", "b"],
      tasks: [1],
      reset: () => ({ a: "go" }),
      step: () => ({ reward: 1 }),
    });
    const episode = await play(withPolicies(environment, { a: scriptedPolicy(["x"]) }), scriptedPolicy(["y"]));
    expect(episode).toMatchObject({ status: "failed", error: { code: "environment.contract" } });
  });

  test("receive their own group rewards, without those of policy-played agents", async () => {
    const graded: EnvironmentDefinition<number> = {
      ...team,
      scoreGroup: async ([episode]) => ({ [episode!.id]: { a: unscored("later"), b: unscored("later") } }),
    };
    const seated = withPolicies(graded, { b: scriptedPolicy(["1", "2"]) });
    const scores = await seated.scoreGroup!([{ id: "e" } as Episode], {});
    expect(scores).toEqual({ e: { a: unscored("later") } });
  });
});
