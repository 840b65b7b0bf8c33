import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { EnvironmentDefinition } from "../../../src/contract/environment.ts";
import type { Episode } from "../../../src/contract/episode.ts";
import { defineEnvironment, type SingleAgentDefinition } from "../../../src/core/environment/define-environment.ts";
import { defineParallelEnvironment } from "../../../src/core/environment/define-parallel-environment.ts";
import { environmentFromReward } from "../../../src/core/environment/environment-from-reward.ts";
import { demonstrationPolicy } from "../../../src/core/policy/demonstration-policy.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { EpisodeWarnings } from "../../../src/core/rollout/episode-warnings.ts";
import { rolloutEpisode } from "../../../src/core/rollout/rollout-episode.ts";
import { callMessage } from "../../../src/core/tools/call-message.ts";
import type { ToolContext } from "../../../src/core/tools/tool.ts";
import { checkEnvironment } from "../../../src/testing/check-environment.ts";

/** A definition as plain JavaScript can write it, without type checks. */
// biome-ignore lint/suspicious/noExplicitAny: the type checker would refuse the mistakes.
type Loose = Partial<Record<keyof SingleAgentDefinition<any>, any>> & Record<string, any>;

const sound = {
  id: "capital",
  tasks: ["Peru", "Cuba"],
  reset: ({ task }: { task: string }) => `The capital of ${task}?`,
  step: ({ text }: { text: string }) => ({ reward: text === "Lima" ? 1 : 0 }),
};

function environment(change: Loose): EnvironmentDefinition<string> {
  return defineEnvironment({ ...sound, ...change } as never);
}

/** Plays the first task, as a training would. SFT plays the demonstration. */
async function play(mistaken: EnvironmentDefinition<string>): Promise<Episode> {
  const task = await (await mistaken.tasks("train")).get(0);
  const expert =
    mistaken.demonstrate?.(task.task) === undefined ? undefined : demonstrationPolicy({ environment: mistaken });
  return rolloutEpisode({ environment: mistaken, task, policies: expert ?? scriptedPolicy(() => "Lima"), seed: 1 });
}

function circular(): object {
  const info: { self?: object } = {};
  info.self = info;
  return info;
}

/** The place of the author's code: this file, with line and column. */
const here = /twenty-mistakes\.test\.ts:\d+:\d+/;

/** A mistake, the definition that has it, and the expected error of the first episode. */
const atRunTime: readonly (readonly [mistake: string, change: Loose, message: string])[] = [
  // biome-ignore format: what is forgotten is the return.
  ["a step that forgets to return", { step: ({ text }: { text: string }) => { void text; } }, "returned undefined from step"],
  ["a step that returns a number", { step: () => 1 }, "returned 1 from step"],
  [
    "a reward that is awaited by nobody",
    { step: () => ({ reward: (async () => 1)() }) },
    "returned a Promise as reward",
  ],
  [
    "a component that is awaited by nobody",
    { step: () => ({ components: { fluent: (async () => 1)() } }) },
    'a Promise as component "fluent"',
  ],
  ["a reward that is a text", { step: () => ({ reward: "1" }) }, 'returned "1" as reward'],
  ["a reward that is true", { step: () => ({ reward: true }) }, "returned true as reward"],
  ["a reward that is NaN", { step: () => ({ reward: Number("one") }) }, "returned NaN as reward"],
  ["a reward that is infinite", { step: () => ({ reward: 1 / 0 }) }, "returned Infinity as reward"],
  ["a misspelt key", { step: () => ({ reword: 1 }) }, 'returned the unknown key "reword" from step'],
  ["a reset that forgets to return", { reset: () => undefined }, "returned undefined from reset"],
  [
    "a reset that returns the task",
    { reset: () => ({ question: "The capital of Peru?" }) },
    'the unknown key "question" from reset',
  ],
  ["an empty first prompt", { reset: () => "" }, "returned an empty prompt from reset"],
  ["the earlier name of the prompt", { reset: () => ({ messages: "Hm?", state: 1 }) }, "messages"],
  ["no messages in the first prompt", { reset: () => [] }, "returned an empty list from reset"],
  [
    "a prompt that is awaited by nobody",
    { reset: () => ({ prompt: (async () => "Hm?")(), state: 1 }) },
    "returned a Promise as prompt",
  ],
  [
    "a message of a role that there is not",
    { reset: () => ({ role: "human", content: [{ type: "text", text: "Hm?" }] }) },
    'has the role "human"',
  ],
  [
    "a message whose content is a text",
    { reset: () => ({ role: "user", content: "Hm?" }) },
    "has no list of parts as content",
  ],
  [
    "a reply that is an object",
    { maxTurns: 2, step: () => ({ reply: { text: "Go on." } }) },
    "returned a message that has the role",
  ],
  ["done that is a text", { step: () => ({ reward: 1, done: "yes" }) }, 'returned "yes" as done'],
  [
    "a step that throws",
    { step: ({ task }: { task: string }) => ({ reward: (task as never as { answer: string }).answer.length }) },
    "threw in step: TypeError",
  ],
  [
    "a step that throws a text",
    {
      step: () => {
        throw "no";
      },
    },
    "threw in step: no",
  ],
  [
    "a step that throws after it waited",
    {
      step: async () => {
        await null;
        throw new RangeError("late");
      },
    },
    "threw in step: RangeError: late",
  ],
  ["a reset that throws", { reset: () => JSON.parse("Peru") }, "threw in reset: SyntaxError"],
  [
    "a demonstration that throws in an episode",
    {
      demonstrate: once(() => {
        throw new Error("unknown");
      }),
    },
    "threw in demonstrate: Error: unknown",
  ],
  ["a demonstration that is async", { demonstrate: once(async () => "Lima") }, "returned a Promise from demonstrate"],
];

/** Returns the right answer at first, so that the mistake is found while the episode is played. */
function once(later: () => unknown): () => unknown {
  let asked = 0;
  return () => (asked++ === 0 ? ["Lima"] : later());
}

describe("mistakes that are found during play, with task, turn, file and line:", () => {
  test.each(atRunTime)("%s", async (_, change, message) => {
    const { status, error, agents } = await play(environment(change));
    expect(status).toBe("failed");
    // An error that `step` throws again for the same text is scored. All other mistakes are the author's.
    const { reward } = agents.agent!;
    expect(reward.status === "unscored" || "failure" in reward).toBe(true);
    expect(error!.message).toContain(message);
    expect(error!.message).toMatch(here);
    const isReset = /(from|in) reset/.test(message) || "reset" in change;
    expect(error!.message).toMatch(isReset ? /^Task "0": / : /^Task "0", turn 0: /);
    expect(error!.data).toMatchObject({ environment: "capital", task: "0", ...(isReset ? {} : { turn: 0 }) });
    expect(error!.hint).toMatch(/\.$/);
  });

  test("an episode that ends without a reward", async () => {
    const { error } = await play(environment({ step: () => ({ info: "done" }) }));
    expect(error!.message).toBe('Task "0", turn 0: Environment "capital" ended the episode and gave no reward in it.');
  });

  test("the error names the turn of the mistake", async () => {
    const late = environment({ maxTurns: 3, step: ({ turn }: { turn: number }) => (turn < 2 ? { reply: "On." } : 7) });
    expect((await play(late)).error!.message).toMatch(/^Task "0", turn 2: Environment "capital" returned 7 from step/);
  });
});

describe("mistakes with several agents that are found during play:", () => {
  const duel = (change: object): EnvironmentDefinition<string> =>
    defineParallelEnvironment({
      id: "duel",
      agents: ["left", "right"],
      tasks: ["now"],
      reset: () => ({ left: "Draw!", right: "Draw!" }),
      step: () => ({ rewards: { left: 1, right: 0 } }),
      ...change,
    } as never);

  test.each<readonly [string, object, string]>([
    ["rewards in a list", { step: () => ({ rewards: [1] }) }, "returned a list of 1 as rewards from step"],
    [
      "a misspelt agent",
      { step: () => ({ rewards: { left: 1, rigth: 0 } }) },
      'named the unknown agent "rigth" in step',
    ],
    [
      "a reward of an agent that is NaN",
      { step: () => ({ rewards: { left: Number.NaN } }) },
      'NaN as reward of agent "left"',
    ],
    [
      "a prompt of an agent that there is not",
      { reset: () => ({ middle: "Draw!" }) },
      'the unknown agent "middle" in reset',
    ],
    ["a prompt for nobody", { reset: () => ({}) }, "returned no prompt from reset"],
  ])("%s", async (_, change, message) => {
    const { error } = await play(duel(change));
    expect(error!.message).toContain(message);
    expect(error!.message).toMatch(here);
    expect(error!.data).toMatchObject({ environment: "duel", task: "0" });
  });
});

describe("mistakes in a reward function that are found during play:", () => {
  test("it returns a text", async () => {
    const rewarded = environmentFromReward({ tasks: ["Peru"], prompt: (task) => task, reward: (() => "1") as never });
    expect((await play(rewarded)).error!.message).toContain('returned "1"');
  });
});

/** A shop whose only tool has a mistake. Its demonstration calls the tool. */
function shop(tool: object, change: Loose = {}): EnvironmentDefinition<number> {
  const add = {
    inputSchema: z.object({ n: z.number() }),
    execute: ({ n }: { n: number }, { state }: ToolContext) => (state.sum += n),
    ...tool,
  };
  return defineEnvironment({
    id: "shop",
    tasks: [1, 2],
    reset: ({ task }: { task: number }) => ({ prompt: `Add ${task}.`, state: { sum: 0 } }),
    tools: { add },
    step: ({ state, task }: { state: { sum: number }; task: number }) => ({ reward: state.sum === task ? 1 : 0 }),
    demonstrate: (task: number) => [callMessage(["add", { n: task }]), "done"],
    ...change,
  } as never);
}

describe("mistakes in a tool", () => {
  test.each<readonly [string, object, string]>([
    ["an execute that is misspelt", { execute: undefined, excute: () => 1 }, "It has no execute function"],
    [
      "parameters in place of inputSchema",
      { inputSchema: undefined, parameters: {} },
      "has parameters but no inputSchema",
    ],
    ["a schema of something else", { inputSchema: { n: "number" } }, "inputSchema is neither from Zod 4"],
  ])("is refused when the environment is defined: %s", (_, tool, message) => {
    expect(() => shop(tool)).toThrow(message);
  });

  test.each<readonly [string, object, string]>([
    [
      "arguments by place",
      { execute: (n: { of: { n: number } }) => n.of.n },
      "TypeError: Cannot read properties of undefined",
    ],
    ["a name that there is not", { execute: () => (globalThis as Loose).cart.push(1) }, "TypeError"],
    ["a result that is a function", { execute: () => () => 1 }, "The tool's result is not JSON data: a function"],
    [
      "a result that refers to itself",
      { execute: () => circular() },
      "The tool's result is not JSON data: Converting circular",
    ],
  ])("is warned of with task, turn, file and line, and found by check: %s", async (_, tool, message) => {
    const mistaken = shop(tool);
    const episode = await play(mistaken as never);
    const warnings = new EpisodeWarnings(mistaken);
    const [warning, ...others] = warnings.of([episode, episode]);
    expect(others).toEqual([]);
    expect(warning).toContain(message);
    expect(warning).toMatch(/^Task "0", turn 0: the tool "add" threw .*\(.*twenty-mistakes\.test\.ts:\d+/);
    expect(warnings.of([episode])).toEqual([]);
    const { problems } = await checkEnvironment(mistaken, { tasks: 2, episodes: 5, callMs: 200 });
    const found = problems.find(({ rule }) => rule === "demonstrations-reach-the-top");
    expect(found!.message).toContain(message);
    expect(found!.message).toMatch(/twenty-mistakes\.test\.ts:\d+/);
  });

  test.each<readonly [string, Loose, string]>([
    [
      "of a tool that there is not",
      { demonstrate: () => [callMessage(["ad", { n: 1 }]), "done"] },
      'Unknown tool "ad"',
    ],
    [
      "with other arguments",
      { demonstrate: () => [callMessage(["add", { m: 1 }]), "done"] },
      "the input of add is wrong",
    ],
  ])("is found by check in a demonstration's call %s", async (_, change, message) => {
    const { problems } = await checkEnvironment(shop({}, change), { tasks: 2, episodes: 5, callMs: 200 });
    expect(problems.map(({ message: text }) => text).join()).toContain(message);
  });

  test.each<readonly [string, object, string]>([
    [
      "a reward that is a text",
      { execute: (_: unknown, { reward }: ToolContext) => reward("1" as never) },
      '"1" as a reward',
    ],
    [
      "a reward that is NaN",
      { execute: (_: unknown, { reward }: ToolContext) => reward(Number.NaN) },
      "NaN as a reward",
    ],
    [
      "a reward that is forgotten",
      { execute: (_: unknown, { reward }: ToolContext) => reward(undefined as never) },
      "undefined as a reward",
    ],
  ])("fails the episode: %s", async (_, tool, message) => {
    const { error } = await play(shop(tool) as never);
    expect(error!.message).toContain(message);
    expect(error!.message).toMatch(/^Task "0", turn 0: .*"add"/);
  });

  test("does not warn about an error that a tool returns to the model", async () => {
    const strict = shop({
      execute: () => {
        throw new Error("There is no tea left.");
      },
    });
    expect(new EpisodeWarnings(strict).of([await play(strict as never)])).toEqual([]);
  });
});

describe("mistakes in a definition that are found when it is created or loaded:", () => {
  test.each<readonly [string, Loose, string]>([
    ["a misspelt key", { maxTurn: 3 }, 'has the unknown key "maxTurn" in its definition'],
    ["a step that is not there", { step: undefined }, "has undefined as step"],
  ])("%s", (_, change, message) => {
    expect(() => environment(change)).toThrow(message);
  });

  async function* countries(): AsyncGenerator<string> {
    for (;;) yield "Peru";
  }
  test.each<readonly [string, Loose, string]>([
    ["tasks from an infinite generator", { tasks: countries }, "has an async generator as tasks"],
    ["tasks that are forgotten to be returned", { tasks: () => undefined }, "has undefined as tasks"],
    ["tasks that throw", { tasks: () => JSON.parse("Peru") }, "threw in tasks: SyntaxError"],
  ])("%s", async (_, change, message) => {
    const loaded = environment(change).tasks("train");
    await expect(loaded).rejects.toThrow(message);
    await expect(loaded).rejects.toThrow(here);
  });
});

describe("mistakes that checkEnvironment and lyceum check find:", () => {
  const seen: string[] = [];
  let previous = 0;
  test.each<readonly [string, Loose, rule: string]>([
    [
      "a step that returns a number, although there is a demonstration",
      { step: () => 1, demonstrate: () => "Lima" },
      "results-are-valid",
    ],
    ["a reset that returns nothing", { reset: () => undefined }, "results-are-valid"],
    ["an empty first prompt", { reset: () => " \n" }, "results-are-valid"],
    ["the same task twice", { tasks: ["Peru", "Cuba", "Peru"] }, "tasks-are-distinct"],
    ["a split without tasks", { tasks: [] }, "splits-have-tasks"],
    [
      "a state that episodes share",
      { step: ({ text }: { text: string }) => ({ reward: seen.push(text) > 1 ? 1 : 0 }) },
      "repeats-under-a-seed",
    ],
    [
      "a task that is changed",
      {
        tasks: [{ country: "Peru" }, { country: "Cuba" }],
        reset: ({ task }: { task: { country: string } }) => (task.country += "?"),
      },
      "tasks-are-not-mutated",
    ],
    ["chance that no seed determines", { reset: () => `${Math.random()}` }, "repeats-under-a-seed"],
    ["the time in a prompt", { reset: () => `It is ${Date.now()}.` }, "repeats-under-a-seed"],
    ["an episode that is never done", { maxTurns: 3, step: () => ({ reply: "On." }) }, "some-episode-has-a-reward"],
    ["a turn more than maxTurns, without a reward", { step: () => ({ reply: "On." }) }, "some-episode-has-a-reward"],
    ["a demonstration that earns less than the most", { demonstrate: () => "Paris" }, "demonstrations-reach-the-top"],
    ["a demonstration of a turn too many", { demonstrate: () => ["Lima", "Lima"] }, "demonstrations-reach-the-end"],
    ["a reward beyond its range", { step: () => ({ reward: 2 }) }, "rewards-are-in-range"],
    [
      "an answer that throws",
      { step: ({ text }: { text: string }) => ({ reward: JSON.parse(text) ? 1 : 0 }) },
      "accepts-any-answer",
    ],
    ["a date in a task", { tasks: [{ when: new Date(0) }], reset: () => "When?" }, "tasks-are-data"],
    ["info that refers to itself", { step: () => ({ reward: 1, info: circular() }) }, "results-are-data"],
    ["a step that waits forever", { step: () => new Promise(() => {}) }, "answers-in-time"],
    ["loading that waits forever", { tasks: () => new Promise(() => {}) }, "answers-in-time"],
    ["a reward that differs by the call", { step: () => ({ reward: previous++ % 2 }) }, "repeats-under-a-seed"],
  ])("%s", async (_, change, rule) => {
    const { problems } = await checkEnvironment(environment(change), { tasks: 2, episodes: 5, callMs: 200 });
    const found = problems.find((problem) => problem.rule === rule);
    expect(problems.map((problem) => problem.rule)).toContain(rule);
    expect(found!.hint).toMatch(/\.$/);
    if (rule === "results-are-valid" || rule === "accepts-any-answer") expect(found!.message).toMatch(here);
  });
});

test("mistakes that the compiler finds (the type check fails if it does not)", () => {
  const never = (): void => {
    const { id, tasks, reset, step } = { ...sound, tasks: ["Peru"] };
    // @ts-expect-error a step returns an object
    defineEnvironment({ id, tasks, reset, step: () => 1 });
    // @ts-expect-error a misspelt key
    defineEnvironment({ id, tasks, reset, step: () => ({ reword: 1 }) });
    // @ts-expect-error a reward is a number
    defineEnvironment({ id, tasks, reset, step: () => ({ reward: "1" }) });
    // @ts-expect-error a Promise is to be awaited
    defineEnvironment({ id, tasks, reset, step: () => ({ reward: Promise.resolve(1) }) });
    // @ts-expect-error a reset returns a prompt
    defineEnvironment({ id, tasks, step, reset: () => undefined });
    // @ts-expect-error the content of a message is a list of parts
    defineEnvironment({ id, tasks, step, reset: () => ({ role: "user" as const, content: "Hm?" }) });
    // @ts-expect-error there is no step
    defineEnvironment({ id, tasks, reset });
  };
  expect(never).toBeTypeOf("function");
});
