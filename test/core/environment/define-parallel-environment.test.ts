import { describe, expect, expectTypeOf, test } from "vitest";
import type { Action } from "../../../src/contract/action.ts";
import type { Environment, EnvironmentDefinition } from "../../../src/contract/environment.ts";
import { textMessage } from "../../../src/contract/message.ts";
import { scored, unscored } from "../../../src/contract/reward.ts";
import { defineEnvironment } from "../../../src/core/environment/define-environment.ts";
import { defineParallelEnvironment } from "../../../src/core/environment/define-parallel-environment.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { EnvironmentPool } from "../../../src/core/rollout/environment-pool.ts";
import { rolloutEpisode } from "../../../src/core/rollout/rollout-episode.ts";
import { checkEnvironment } from "../../../src/entry-points/testing.ts";

const say = (text: string): Action => ({ message: textMessage("assistant", text), finish: "stop" });
const contract = { code: "environment.contract" };

/** Two agents name a number each. The sum should be the task's number. */
const sums = defineParallelEnvironment({
  id: "sums",
  agents: ["low", "high"],
  tasks: [5, 9],
  maxTurns: 3,
  reset: ({ task }) => ({ low: `Make ${task}, you from below.`, high: `Make ${task}, you from above.` }),
  step: ({ task, texts }) => {
    const sum = Number(texts.low) + Number(texts.high);
    return sum === task ? { reward: 1 } : { replies: { low: `${sum}?`, high: `${sum}!` } };
  },
  demonstrate: (task) => [{ low: "1", high: String(task - 1) }],
});

async function started<Task>(environment: EnvironmentDefinition<Task>): Promise<Environment<Task>> {
  const instance = await environment.create();
  await instance.reset({ task: (await (await environment.tasks("train")).get(0)).task, seed: 0 });
  return instance;
}

type Definition = Parameters<typeof defineParallelEnvironment<"a" | "b", number, { count: number }>>[0];

const stepping = (step: Definition["step"], rest: Partial<Definition> = {}) =>
  started(
    defineParallelEnvironment<"a" | "b", number, { count: number }>({
      id: "stepping",
      agents: ["a", "b"],
      tasks: [1],
      maxTurns: 3,
      reset: () => ({ prompts: { a: "for a", b: "for b" }, state: { count: 0 } }),
      step,
      ...rest,
    }),
  );

describe("agents that act at the same time", () => {
  test("play in separate conversations and receive the same reward", async () => {
    const task = await (await sums.tasks("train")).get(0);
    const episode = await rolloutEpisode({
      environment: sums,
      task,
      policies: scriptedPolicy(({ agent, episode: { turn } = { turn: 0 } as never }) =>
        agent === "low" ? ["1", "2"][turn]! : ["1", "3"][turn]!,
      ),
      seed: 0,
    });
    expect(episode).toMatchObject({ status: "completed", turns: 2 });
    const texts = (agent: string) => episode.agents[agent]!.nodes.map(({ message }) => message.content[0]);
    expect(texts("low")).toMatchObject(["Make 5, you from below.", "1", "2?", "2"].map((text) => ({ text })));
    expect(texts("high")).toMatchObject(["Make 5, you from above.", "1", "2!", "3"].map((text) => ({ text })));
    for (const agent of ["low", "high"]) {
      expect(episode.agents[agent]).toMatchObject({ terminated: true, truncated: false, reward: scored(1) });
    }
  });

  test("pass checkEnvironment, including demonstrations", async () =>
    expect((await checkEnvironment(sums)).problems).toEqual([]));

  test("are truncated together at maxTurns", async () => {
    const instance = await stepping(() => ({ replies: { a: "on", b: "on" }, components: { effort: 0.5 } }), {
      maxTurns: 1,
    });
    const step = { terminated: false, truncated: true, reward: scored(0.5, { effort: 0.5 }) };
    expect(await instance.step({ a: say("x"), b: say("y") })).toEqual({
      observations: {},
      agents: { a: step, b: step },
    });
  });

  test("have inferred types", () => {
    defineParallelEnvironment({
      id: "typed",
      agents: ["a", "b"],
      tasks: ["t"],
      reset: () => ({ prompts: { a: "x" }, state: 3 }),
      step: ({ texts, state, actions, opened }) => {
        expectTypeOf(texts).toEqualTypeOf<Readonly<Record<"a" | "b", string>>>();
        expectTypeOf(state).toEqualTypeOf<number>();
        expectTypeOf(actions.a).toEqualTypeOf<Action | undefined>();
        expectTypeOf(opened).toEqualTypeOf<undefined>();
        return { rewards: { a: 1 } };
      },
    });
    defineParallelEnvironment({
      id: "ill-typed",
      agents: ["a", "b"],
      tasks: ["t"],
      // @ts-expect-error: there is no agent c
      reset: () => ({ c: "x" }),
      // @ts-expect-error: there is no agent c
      step: () => ({ rewards: { c: 1 } }),
    });
  });
});

describe("the result of step", () => {
  test("the rewards of single agents go only to them, even to one that did not act", async () => {
    const instance = await stepping(({ turn }) =>
      turn === 0 ? { replies: { a: "on" } } : { rewards: { a: 0.25, b: unscored("lost") } },
    );
    const first = await instance.step({ a: say("x"), b: say("y") });
    expect(Object.keys(first.observations)).toEqual(["a"]);
    expect(first.agents).toEqual({
      a: { terminated: false, truncated: false },
      b: { terminated: false, truncated: false },
    });
    expect((await instance.step({ a: say("x") })).agents).toEqual({
      a: { terminated: true, truncated: false, reward: scored(0.25) },
      b: { terminated: true, truncated: false, reward: unscored("lost") },
    });
  });

  test("the action of an agent without a prompt is ignored, and the agent has no result", async () => {
    const heard: unknown[] = [];
    const instance = await stepping(({ texts }) => {
      heard.push(texts);
      return { replies: { b: "on" } };
    });
    await instance.step({ a: say("x"), b: say("y") });
    const { agents } = await instance.step({ a: say("out of turn"), b: say("z") });
    expect(heard).toEqual([
      { a: "x", b: "y" },
      { a: "", b: "z" },
    ]);
    expect(Object.keys(agents)).toEqual(["b"]);
  });

  test("a reply can start a new conversation", async () => {
    const instance = await stepping(() => ({ replies: { a: "again", b: "again" }, context: "replace" }));
    const { observations } = await instance.step({ a: say("x"), b: say("y") });
    expect(observations.a).toEqual({ messages: [textMessage("user", "again")], context: "replace" });
    const single = await started(
      defineEnvironment({
        id: "forgetful",
        tasks: [0],
        maxTurns: 2,
        reset: () => "hello",
        step: () => ({ reply: "hello", context: "replace" }),
      }),
    );
    expect((await single.step({ agent: say("x") })).observations.agent!.context).toBe("replace");
  });

  test.each<[string, Definition["step"]]>([
    ["a joint reward next to rewards", () => ({ reward: 1, rewards: { a: 1 } })],
    ["components next to rewards", () => ({ components: { x: 1 }, rewards: { a: 1 } })],
    ["components next to a whole reward", () => ({ reward: scored(1), components: { x: 1 } })],
    ["done: false without replies", () => ({ done: false })],
    ["a reward of nobody", () => ({ rewards: { c: 1 } as never })],
    ["a reply to nobody", () => ({ replies: { c: "hello" } as never })],
  ])("%s breaks the contract", async (_, step) => {
    const instance = await stepping(step);
    await expect(instance.step({ a: say("x"), b: say("y") })).rejects.toMatchObject(contract);
  });

  test("an agent with a prompt must act", async () => {
    const instance = await stepping(() => ({ reward: 1 }));
    await expect(instance.step({ a: say("x") })).rejects.toMatchObject(contract);
  });
});

describe("the resource of an instance", () => {
  /** An environment whose instances open a number, and a record of what happened to each. */
  const holding = () => {
    const log: string[] = [];
    let opened = 0;
    const environment = defineEnvironment({
      id: "holding",
      tasks: [0],
      open: async () => {
        const name = `number ${opened++}`;
        log.push(`open ${name}`);
        return { name, [Symbol.asyncDispose]: async () => void log.push(`close ${name}`) };
      },
      reset: ({ opened }) => {
        expectTypeOf(opened.name).toEqualTypeOf<string>();
        return `You hold ${opened.name}.`;
      },
      step: ({ opened, text }) => ({ reward: text === opened.name ? 1 : 0 }),
    });
    return { environment, log };
  };

  test("is opened for each instance, passed to reset and step, and disposed of once", async () => {
    const { environment, log } = holding();
    expect(log).toEqual([]);
    const [first, second] = [await environment.create(), await environment.create()];
    expect(log).toEqual(["open number 0", "open number 1"]);
    for (const [instance, name] of [
      [first, "number 0"],
      [second, "number 1"],
    ] as const) {
      expect((await instance.reset({ task: 0, seed: 0 })).agent!.messages).toEqual([
        textMessage("user", `You hold ${name}.`),
      ]);
      expect((await instance.step({ agent: say(name) })).agents.agent!.reward).toEqual(scored(1));
    }
    await first.close();
    await first.close();
    expect(log.slice(2)).toEqual(["close number 0"]);
    await expect(first.reset({ task: 0, seed: 0 })).rejects.toMatchObject(contract);
    expect((await second.reset({ task: 0, seed: 0 })).agent).toBeDefined();
  });

  test("is released by the pool that created the instance", async () => {
    const { environment, log } = holding();
    {
      await using pool = new EnvironmentPool(environment);
      const task = await (await environment.tasks("train")).get(0);
      await rolloutEpisode({ environment: pool, task, policies: scriptedPolicy(["x"]), seed: 0 });
    }
    expect(log).toEqual(["open number 0", "close number 0"]);
  });

  test("that cannot be opened fails the episode, with the reason", async () => {
    const environment = defineEnvironment({
      id: "shut",
      tasks: [0],
      open: async (): Promise<AsyncDisposable> => {
        throw new Error("no room");
      },
      reset: () => "hello",
      step: () => ({ reward: 1 }),
    });
    const task = await (await environment.tasks("train")).get(0);
    const episode = await rolloutEpisode({ environment, task, policies: scriptedPolicy(["x"]), seed: 0 });
    expect(episode).toMatchObject({ status: "failed", error: { message: expect.stringContaining("no room") } });
  });
});
