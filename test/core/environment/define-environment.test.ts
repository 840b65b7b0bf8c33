import { describe, expect, expectTypeOf, test } from "vitest";
import type { Environment, EnvironmentDefinition } from "../../../src/contract/environment.ts";
import { type Message, textMessage } from "../../../src/contract/message.ts";
import { scored, unscored } from "../../../src/contract/reward.ts";
import { defineEnvironment } from "../../../src/core/environment/define-environment.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { rolloutEpisode } from "../../../src/core/rollout/rollout-episode.ts";
import { memoryTaskset } from "../../../src/core/taskset/memory-taskset.ts";
import { checkEnvironment } from "../../../src/entry-points/testing.ts";

const guess = defineEnvironment({
  id: "guess",
  tasks: [{ secret: 3 }, { secret: 7 }],
  maxTurns: 4,
  reset: () => "Guess a digit.",
  step: ({ task, text }) =>
    Number(text) === task.secret ? { reward: 1 } : { reply: Number(text) < task.secret ? "higher" : "lower" },
  demonstrate: ({ secret }) => String(secret),
});

const act = (text: string) => ({ agent: { message: textMessage("assistant", text), finish: "stop" } }) as const;

async function started<Task>(environment: EnvironmentDefinition<Task>, index = 0): Promise<Environment<Task>> {
  const instance = await environment.create();
  await instance.reset({ task: (await (await environment.tasks("train")).get(index)).task, seed: 0 });
  return instance;
}

describe("a short environment", () => {
  test("plays", async () => {
    const task = await (await guess.tasks("train")).get(1);
    const episode = await rolloutEpisode({
      environment: guess,
      task,
      policies: scriptedPolicy(["5", "8", "7"]),
      seed: 0,
    });
    expect(episode).toMatchObject({
      status: "completed",
      turns: 3,
      agents: { agent: { terminated: true, reward: scored(1) } },
    });
    expect(episode.agents.agent!.nodes.map(({ message }) => message.content[0])).toMatchObject(
      ["Guess a digit.", "5", "higher", "8", "lower", "7"].map((text) => ({ text })),
    );
  });

  test("is truncated at maxTurns", async () => {
    const task = await (await guess.tasks("train")).get(1);
    const episode = await rolloutEpisode({ environment: guess, task, policies: scriptedPolicy(() => "0"), seed: 0 });
    expect(episode).toMatchObject({
      status: "completed",
      turns: 4,
      agents: { agent: { terminated: false, truncated: true } },
    });
    expect(episode.agents.agent!.reward).toMatchObject({ status: "scored", value: 0 });
  });

  test("passes checkEnvironment", async () => expect((await checkEnvironment(guess)).problems).toEqual([]));

  test("infers the types of task and state", () => {
    const environment = defineEnvironment({
      id: "typed",
      tasks: [{ words: ["a"] }],
      reset: ({ task, random }) => {
        expectTypeOf(task).toEqualTypeOf<{ words: string[] }>();
        return { prompt: random.pick(task.words), state: { left: 3 } };
      },
      step: ({ task, state, action }) => {
        expectTypeOf(task.words).toEqualTypeOf<string[]>();
        expectTypeOf(state).toEqualTypeOf<{ left: number }>();
        expectTypeOf(action.message).toEqualTypeOf<Message>();
        return { reward: 1, state: { left: state.left - 1 } };
      },
    });
    expectTypeOf(environment).toEqualTypeOf<EnvironmentDefinition<{ words: string[] }>>();
    defineEnvironment({
      id: "stateless",
      tasks: ["a"],
      reset: () => "hello",
      step: ({ state }) => {
        expectTypeOf(state).toEqualTypeOf<undefined>();
        return { reward: 0 };
      },
    });
    defineEnvironment({
      id: "ill-typed",
      tasks: [1],
      reset: () => ({ prompt: "hello", state: 1 }),
      // @ts-expect-error: the state is a number
      step: () => ({ state: "one" }),
    });
  });
});

describe("the result of step", () => {
  const stepping = (step: Parameters<typeof defineEnvironment<number, { count: number }>>[0]["step"], maxTurns = 3) =>
    started(
      defineEnvironment({
        id: "stepping",
        tasks: [1],
        maxTurns,
        reset: () => ({ prompt: "hello", state: { count: 0 } }),
        step,
      }),
    );

  test("a number is a reward, with its components", async () => {
    const instance = await stepping(() => ({ reward: 0.5, components: { format: 0.2, answer: 0.3 } }));
    expect((await instance.step(act("x"))).agents.agent!.reward).toEqual(scored(0.5, { format: 0.2, answer: 0.3 }));
  });

  test("components without a reward are added; a complete reward is unchanged; no reward stays absent", async () => {
    const summed = await stepping(() => ({ components: { format: 0.25, answer: 0.5 } }));
    expect((await summed.step(act("x"))).agents.agent!.reward).toEqual(scored(0.75, { format: 0.25, answer: 0.5 }));
    const whole = await stepping(() => ({ reward: unscored("no judge") }));
    expect((await whole.step(act("x"))).agents.agent!.reward).toEqual(unscored("no judge"));
    const none = await stepping(() => ({ reply: "go on" }));
    expect((await none.step(act("x"))).agents.agent).toEqual({ terminated: false, truncated: false });
  });

  test("a reply continues the episode, no reply ends it, and done ends it despite a reply", async () => {
    const replying = await stepping(() => ({ reply: [textMessage("tool", "1"), textMessage("user", "2")] }));
    expect((await replying.step(act("x"))).observations).toEqual({
      agent: { messages: [textMessage("tool", "1"), textMessage("user", "2")], context: "append" },
    });
    const done = await stepping(() => ({ reply: "bye", done: true }));
    expect(await done.step(act("x"))).toEqual({
      observations: {},
      agents: { agent: { terminated: true, truncated: false } },
    });
  });

  test("a new state replaces the old one, and a state changed in place is kept", async () => {
    const replaced = await stepping(({ state }) => ({ reply: String(state.count), state: { count: state.count + 1 } }));
    await replaced.step(act("x"));
    expect((await replaced.step(act("x"))).observations.agent!.messages).toEqual([textMessage("user", "1")]);
    const changed = await stepping(({ state }) => ({ reply: String(state.count++) }));
    await changed.step(act("x"));
    expect((await changed.step(act("x"))).observations.agent!.messages).toEqual([textMessage("user", "1")]);
  });

  test.each<[string, Parameters<typeof stepping>[0]]>([
    ["done: false without a reply", () => ({ done: false })],
    ["components next to a whole reward", () => ({ reward: scored(1), components: { a: 1 } })],
  ])("%s breaks the contract", async (_, step) => {
    const instance = await stepping(step);
    await expect(instance.step(act("x"))).rejects.toMatchObject({ code: "environment.contract" });
  });

  test("turns are counted, and a reply in the last turn truncates the episode", async () => {
    const turns: number[] = [];
    const instance = await stepping(({ turn }) => {
      turns.push(turn);
      return { reply: "on", reward: 1 };
    }, 2);
    await instance.step(act("x"));
    expect(await instance.step(act("x"))).toEqual({
      observations: {},
      agents: { agent: { terminated: false, truncated: true, reward: scored(1) } },
    });
    expect(turns).toEqual([0, 1]);
  });
});

describe("the contract", () => {
  test("step fails before reset, after the end, after close and without an action", async () => {
    const contract = { code: "environment.contract" };
    const fresh = await guess.create();
    await expect(fresh.step(act("3"))).rejects.toMatchObject(contract);
    const instance = await started(guess);
    await expect(instance.step({})).rejects.toMatchObject(contract);
    await instance.step(act("3"));
    await expect(instance.step(act("3"))).rejects.toMatchObject(contract);
    const closed = await started(guess);
    await closed.close();
    await expect(closed.step(act("3"))).rejects.toMatchObject(contract);
  });

  test("instances do not share state", async () => {
    const environment = defineEnvironment({
      id: "counter",
      tasks: [0],
      maxTurns: 9,
      reset: () => ({ prompt: "0", state: { count: 0 } }),
      step: ({ state }) => ({ reply: String(++state.count) }),
    });
    const [first, second] = [await started(environment), await started(environment)];
    await first.step(act("x"));
    expect((await second.step(act("x"))).observations.agent!.messages).toEqual([textMessage("user", "1")]);
  });

  test("the seed determines all random choices of reset and step", async () => {
    const environment = defineEnvironment({
      id: "dice",
      tasks: [0],
      maxTurns: 3,
      reset: ({ random }) => String(random.next()),
      step: ({ random }) => ({ reply: String(random.next()) }),
    });
    const play = async (seed: number): Promise<unknown[]> => {
      const instance = await environment.create();
      return [await instance.reset({ task: 0, seed }), await instance.step(act("x")), await instance.step(act("x"))];
    };
    const rolls = await play(1);
    expect(await play(1)).toEqual(rolls);
    expect(new Set([...rolls, ...(await play(2))].map((roll) => JSON.stringify(roll))).size).toBe(6);
  });
});

describe("tasks", () => {
  const base = { id: "tasks", reset: () => "hello", step: () => ({ reward: 1 }) };

  test("come from a list, a taskset or a function of the split", async () => {
    const list = defineEnvironment({ ...base, tasks: ["a", "b"] });
    expect(list.splits).toEqual(["train"]);
    expect((await (await list.tasks("train")).get(1)).task).toBe("b");
    const taskset = defineEnvironment({ ...base, tasks: memoryTaskset("held", ["c"]) });
    expect((await (await taskset.tasks("train")).get(0)).task).toBe("c");
    const split = defineEnvironment({
      ...base,
      splits: ["easy", "hard"],
      tasks: async (name: string) => [`${name} 1`, `${name} 2`],
    });
    expect((await (await split.tasks("hard")).get(0)).task).toBe("hard 1");
    expect(defineEnvironment({ ...base, tasks: () => ["x"] }).splits).toEqual(["train", "test"]);
  });

  test("are loaded with the signal, and not after an abort", async () => {
    const seen: (AbortSignal | undefined)[] = [];
    const environment = defineEnvironment({
      ...base,
      tasks: (_, { signal }) => {
        seen.push(signal);
        return ["a"];
      },
    });
    const { signal } = new AbortController();
    await environment.tasks("train", { signal });
    await environment.tasks("train[:1]");
    expect(seen).toEqual([signal, undefined]);
    expect(seen[0]).toBe(signal);
    const reason = new Error("enough");
    await expect(environment.tasks("train", { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(seen).toHaveLength(2);
  });

  test("can be sliced, and an unknown split is refused with a suggestion", async () => {
    const environment = defineEnvironment({ ...base, tasks: ["a", "b", "c"] });
    const sliced = await environment.tasks("train[1:]");
    expect([sliced.length, (await sliced.get(0)).task]).toEqual([2, "b"]);
    await expect(environment.tasks("trian")).rejects.toMatchObject({
      code: "data.out-of-range",
      hint: expect.stringContaining("train"),
    });
  });
});
