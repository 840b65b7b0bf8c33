import { jsonSchema, tool } from "ai";
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import type { Action } from "../../../src/contract/action.ts";
import type { EnvironmentDefinition, StepResult } from "../../../src/contract/environment.ts";
import { LyceumError } from "../../../src/contract/errors/index.ts";
import { type Message, type ToolCall, textMessage, textOf } from "../../../src/contract/message.ts";
import { scored } from "../../../src/contract/reward.ts";
import { defineEnvironment } from "../../../src/core/environment/define-environment.ts";
import { demonstrationPolicy } from "../../../src/core/policy/demonstration-policy.ts";
import { rolloutEpisode } from "../../../src/core/rollout/rollout-episode.ts";
import { tokenSequences } from "../../../src/core/rollout/token-sequences.ts";
import { createByteRenderer } from "../../../src/core/tokens/byte-renderer.ts";
import { callMessage } from "../../../src/core/tools/call-message.ts";
import { defineTool, type ToolContext, type ToolRecord } from "../../../src/core/tools/tool.ts";
import { checkEnvironment } from "../../../src/entry-points/testing.ts";

/** A counter with two tools: one changes the state of the episode, one reads it. */
const counter = defineEnvironment({
  id: "counter",
  tasks: [3, 5],
  maxTurns: 4,
  reset: ({ task }) => ({ prompt: `Count to ${task}.`, state: { count: 0 } }),
  tools: {
    add: {
      description: "Adds to the count.",
      inputSchema: z.object({ by: z.int().min(1) }),
      execute: ({ by }, { state }) => {
        state.count += by;
        return state.count;
      },
    },
    read: { execute: (_, { state }) => `The count is ${state.count}.` },
  },
  step: ({ task, state, text, calls }) => ({
    reward: state.count === task && text === "done" ? 1 : 0,
    info: { calls: calls.length },
  }),
  demonstrate: (task) => [callMessage(["add", { by: task }], ["read"]), "done"],
});

const calling = (...toolCalls: readonly ToolCall[]): Action => ({
  message: { role: "assistant", content: [], toolCalls },
  finish: "tool-calls",
});
const call = (name: string, input: ToolCall["arguments"] = {}, id = "1"): ToolCall => ({ id, name, arguments: input });
const saying = (text: string): Action => ({ message: textMessage("assistant", text), finish: "stop" });

/** Plays actions until the episode ends, on one instance. */
async function play<Task>(environment: EnvironmentDefinition<Task>, actions: readonly Action[], task: unknown = 3) {
  const instance = await environment.create();
  const first = await instance.reset({ task: task as Task, seed: 0 });
  const results: StepResult[] = [];
  for (const action of actions) results.push(await instance.step({ agent: action }));
  await instance.close();
  const replies = results.map(({ observations }) => observations.agent?.messages ?? []);
  return { first: first.agent!, results, replies, texts: replies.map((messages) => messages.map(textOf)) };
}

/** Creates an environment with one tool, which a test defines. */
function one(
  execute: (input: never, context: ToolContext) => unknown,
  more: object = {},
): EnvironmentDefinition<never> {
  return defineEnvironment({
    id: "one",
    tasks: [3] as never[],
    maxTurns: 3,
    rewardRange: [-10, 10],
    reset: () => "Go.",
    tools: { own: { execute } } as ToolRecord,
    step: ({ text }) => ({ reward: text === "right" ? 1 : 0 }),
    ...more,
  });
}

describe("tools of an environment", () => {
  test("read and change the state; results are tool messages with the ids of their calls", async () => {
    const { first, replies, results } = await play(counter, [
      calling(call("add", { by: 2 }, "a"), call("add", { by: 1 }, "b"), call("read", {}, "c")),
      saying("done"),
    ]);
    expect(first.messages.map(textOf)).toEqual(["Count to 3."]);
    expect(replies[0]!.map((message) => [message.role, message.toolCallId, message.name, textOf(message)])).toEqual([
      ["tool", "a", "add", "2"],
      ["tool", "b", "add", "3"],
      ["tool", "c", "read", "The count is 3."],
    ]);
    expect(results[1]).toMatchObject({
      info: { calls: 3 },
      agents: { agent: { reward: scored(1), terminated: true } },
    });
  });

  test("the spec lists their inputs, from their schemas", () => {
    expect(counter.spec).toMatchObject({ maxTurns: 4 });
    expect(counter.spec.tools).toEqual([
      {
        name: "add",
        description: "Adds to the count.",
        parameters: {
          type: "object",
          properties: { by: { type: "integer", minimum: 1, maximum: Number.MAX_SAFE_INTEGER } },
          required: ["by"],
        },
      },
      { name: "read", description: "", parameters: { type: "object", properties: {}, additionalProperties: false } },
    ]);
  });

  test("tagged calls are parsed and answered as text", async () => {
    const tagged = 'So: <tool_call>{"name": "add", "arguments": {"by": 3}}</tool_call>';
    const { replies, results } = await play(counter, [saying(tagged), saying("done")]);
    expect(replies[0]).toEqual([textMessage("user", '<tool_response name="add">\n3\n</tool_response>')]);
    expect(results[1]!.agents.agent!.reward).toEqual(scored(1));
  });

  test("the tagged protocol lists them at the end of the system message", async () => {
    const tagged = defineEnvironment({
      id: "tagged",
      tasks: [3],
      reset: () => [textMessage("system", "Be brief."), textMessage("user", "Go.")],
      tools: { look: { description: "Looks.", execute: () => "A wall." } },
      toolProtocol: "tagged",
      step: () => ({ reward: 1 }),
      demonstrate: () => [callMessage(["look"]), "done"],
    });
    expect(tagged.spec.tools).toBeUndefined();
    const { first } = await play(tagged, []);
    expect(first.messages).toHaveLength(2);
    expect(textOf(first.messages[0]!)).toMatch(/^Be brief\.\n\nYou can call these tools:[\s\S]*"name":"look"/);
    expect(tagged.demonstrate!(3)).toEqual([
      { agent: textMessage("assistant", '<tool_call>\n{"name":"look","arguments":{}}\n</tool_call>') },
      { agent: "done" },
    ]);
    expect((await checkEnvironment(tagged)).problems).toEqual([]);
  });

  test.each<[string, Action, RegExp]>([
    ["an unknown tool", calling(call("ad")), /^Error: Unknown tool "ad"\. Did you mean "add"\?/],
    ["a name that every object has", calling(call("constructor")), /^Error: Unknown tool/],
    ["a wrong input", calling(call("add", { by: "2" })), /^Error: the input of add is wrong:[\s\S]*expected.*number/],
    ["an input that is no object", calling(call("add", null)), /^Error: the input of add is wrong/],
    [
      "a call that cannot be read",
      { ...saying("{"), parseErrors: [{ message: "no JSON", text: "{" }] },
      /^Error: no JSON/,
    ],
    ["a call cut off in tags", saying('<tool_call>{"name": "add"'), /^Error: the tool call has no end/],
  ])("%s is answered with what is wrong", async (_, action, reply) => {
    const { replies, results } = await play(counter, [action, calling(call("add", { by: 3 })), saying("done")]);
    expect(textOf(replies[0]![0]!)).toMatch(reply);
    expect(replies[0]![0]!.role).toBe(textOf(action.message).startsWith("<") ? "user" : "tool");
    expect(results[2]).toMatchObject({ info: { calls: 2 }, agents: { agent: { reward: scored(1) } } });
  });

  test("pass checkEnvironment, and an expert's calls get the highest reward", async () => {
    expect((await checkEnvironment(counter)).problems).toEqual([]);
  });

  test("forks copy the state and the calls", async () => {
    const forked = one((_, { state }) => ++state.n, {
      reset: () => ({ prompt: "Go.", state: { n: 0 } }),
      fork: structuredClone,
      step: ({ state, calls }: { state: { n: number }; calls: readonly unknown[] }) => ({
        reward: 10 * state.n + calls.length - 20,
      }),
    });
    const instance = await forked.create();
    await instance.reset({ task: 3 as never, seed: 0 });
    await instance.step({ agent: calling(call("own")) });
    const copy = await instance.fork!();
    await instance.step({ agent: calling(call("own")) });
    expect((await instance.step({ agent: saying("") })).agents.agent!.reward).toEqual(scored(2));
    expect((await copy.step({ agent: saying("") })).agents.agent!.reward).toEqual(scored(-9));
  });
});

describe("when a tool fails", () => {
  test("the model receives the error, and the info has its file and line", async () => {
    const { texts, results } = await play(
      one(() => {
        throw new TypeError("no luck");
      }),
      [calling(call("own"), call("own")), saying("right")],
    );
    expect(texts[0]).toEqual(["Error: no luck", "Error: no luck"]);
    const at = expect.stringMatching(/^test\/core\/environment\/tools\.test\.ts:\d+$/);
    const error = { tool: "own", message: "TypeError: no luck", at };
    expect(results[0]!.info).toEqual({ toolErrors: [error, error] });
    expect(results[1]!.agents.agent!.reward).toEqual(scored(1));
  });

  test("the errors are added to the info of the last step", async () => {
    const broken = one(() => Promise.reject(new Error("no luck")), { maxTurns: 1, step: () => ({ info: { own: 1 } }) });
    expect((await play(broken, [calling(call("own"))])).results[0]!.info).toMatchObject({ own: 1, toolErrors: [{}] });
  });

  test("a result that is not JSON is an error of the tool", async () => {
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    expect(
      (
        await play(
          one(() => cyclic),
          [calling(call("own"))],
        )
      ).texts[0]![0],
    ).toMatch(/^Error: .*circular/i);
    expect(
      (
        await play(
          one(() => 1n),
          [calling(call("own"))],
        )
      ).texts[0]![0],
    ).toMatch(/^Error: .*BigInt/);
  });

  test("a failure of the infrastructure ends the episode unscored", async () => {
    const down = one(() => {
      throw new LyceumError({ code: "data.unavailable", message: "The server is down." });
    });
    const { results } = await play(down, [calling(call("own"))]);
    expect(results[0]!.agents.agent).toMatchObject({ terminated: true, reward: { status: "unscored" } });
  });
});

describe("limits", () => {
  test("a tool that hangs is stopped: its signal aborts, and its later effects do not count", async () => {
    let later: (() => void) | undefined;
    const hanging = one(
      (_, { signal, reward, end }) => {
        if (later !== undefined) return later();
        return new Promise(() => {
          signal.addEventListener("abort", () => {
            later = () => {
              reward(5);
              end();
            };
          });
        });
      },
      { toolLimits: { callMs: 20 } },
    );
    const { texts, results } = await play(hanging, [calling(call("own"), call("own")), saying("right")]);
    expect(texts[0]).toEqual(["Error: own took longer than 0.02 s and was stopped.", "(no output)"]);
    expect(results[0]!.agents.agent).toEqual({ terminated: false, truncated: false });
    expect(results[1]!.agents.agent!.reward).toEqual(scored(1));
  });

  test("an abort of the episode ends the step with its reason", async () => {
    const controller = new AbortController();
    const instance = await one(() => {
      controller.abort(new Error("enough"));
      return new Promise(() => {});
    }).create();
    await instance.reset({ task: 3 as never, seed: 0 });
    const step = instance.step({ agent: calling(call("own")) }, { signal: controller.signal });
    await expect(step).rejects.toThrow("enough");
  });

  test("long results are cut, and calls beyond the limit are not run", async () => {
    let runs = 0;
    const long = one(() => "x".repeat(200 + 0 * ++runs), { toolLimits: { resultCharacters: 10, callsPerMessage: 2 } });
    const { texts } = await play(long, [calling(call("own"), call("own"), call("own"))]);
    expect(texts[0]![0]).toBe(`${"x".repeat(10)}\n... (190 more characters)`);
    expect(texts[0]![2]).toMatch(/^Error: at most 2 calls/);
    expect(runs).toBe(2);
    expect(() => one(() => 1, { toolLimits: { callMs: 0 } })).toThrow(
      expect.objectContaining({ code: "config.invalid" }),
    );
  });

  test("calls of the last turn are run before step scores; the default is ten turns", async () => {
    const { results } = await play(
      counter,
      [1, 1, 1, 1].map((by) => calling(call("add", { by }))),
      5,
    );
    expect(results[3]).toMatchObject({
      observations: {},
      info: { calls: 4 },
      agents: { agent: { reward: scored(0), terminated: true } },
    });
    expect(one(() => 1, { maxTurns: undefined }).spec.maxTurns).toBe(10);
  });

  test("afterCalls receives the number of turns left", async () => {
    const reminded = one(() => 1, { afterCalls: ({ turnsLeft }: { turnsLeft: number }) => `${turnsLeft} left.` });
    const { replies } = await play(reminded, [calling(call("own"))]);
    expect(replies[0]!.map(({ role }) => role)).toEqual(["tool", "user"]);
    expect(textOf(replies[0]![1]!)).toBe("2 left.");
  });
});

describe("rewards and ends", () => {
  test("a tool's rewards are components of their turn and are added to the reward of step", async () => {
    const paid = one((_, { reward }) => {
      reward(0.25);
      reward({ bonus: 0.5 });
    });
    const { results } = await play(paid, [calling(call("own"), call("own")), saying("right")]);
    expect(results[0]!.agents.agent!.reward).toEqual(scored(1.5, { own: 0.5, bonus: 1 }));
    expect(results[1]!.agents.agent!.reward).toEqual(scored(1));
  });

  test("a tool can end the episode: later calls are not run, and step scores", async () => {
    let runs = 0;
    const ending = one(
      (_, { end, reward }) => {
        runs++;
        reward(-1);
        end();
      },
      { step: () => ({ components: { final: 2 }, reply: "Go on." }) },
    );
    const { results } = await play(ending, [calling(call("own"), call("own"))]);
    expect(runs).toBe(1);
    expect(results[0]).toMatchObject({ observations: {}, agents: { agent: { terminated: true } } });
    expect(results[0]!.agents.agent!.reward).toEqual(scored(1, { own: -1, final: 2 }));
  });

  test("a reward that is not a number fails the episode, and the error names the tool", async () => {
    const play1 = play(
      one((_, { reward }) => reward(Number.NaN)),
      [calling(call("own"))],
    );
    await expect(play1).rejects.toMatchObject({
      code: "environment.contract",
      message: expect.stringContaining('"own"'),
    });
  });
});

describe("the source of tools", () => {
  test("tools of the AI SDK work unchanged, next to others", async () => {
    const mixed = defineEnvironment({
      id: "mixed",
      tasks: [3],
      reset: () => ({ prompt: "Go.", state: { seen: 0 } }),
      tools: {
        double: tool({
          description: "Doubles.",
          inputSchema: z.object({ n: z.number() }),
          execute: async ({ n }) => 2 * n,
        }),
        upper: tool({
          inputSchema: jsonSchema<{ text: string }>({
            type: "object",
            properties: { text: { type: "string" } },
            required: ["text"],
          }),
          execute: ({ text }, { toolCallId }) => `${text.toUpperCase()} ${toolCallId}`,
        }),
        see: { execute: (_, { state }) => ++state.seen },
      },
      step: ({ state }) => ({ reward: state.seen }),
    });
    const { texts } = await play(mixed, [
      calling(call("double", { n: 4 }), call("upper", { text: "a" }, "7"), call("upper", {}), call("see")),
    ]);
    expect(texts[0]).toEqual(["8", "A 7", expect.stringMatching(/input of upper is wrong/), "1"]);
  });

  test("several records, or a function of the value that open returned", async () => {
    const dictionary = { word: "hello", [Symbol.asyncDispose]: async () => {} };
    const listed = one(() => 1, {
      tools: [{ first: { execute: () => 1 } }, { second: { execute: () => 2 } }],
    });
    expect((await play(listed, [calling(call("first"), call("second"))])).texts[0]).toEqual(["1", "2"]);
    const opened = one(() => 1, {
      open: async () => dictionary,
      tools: ({ word }: { word: string }) => ({
        [word]: { execute: (_: unknown, { opened: own }: ToolContext) => own.word },
      }),
    });
    const { first, texts } = await play(opened, [calling(call("hello"))]);
    expect(first.tools!.map(({ name }) => name)).toEqual(["hello"]);
    expect(texts[0]).toEqual(["hello"]);
  });

  test.each<[string, unknown, RegExp]>([
    ["two of one name", [{ a: { execute: () => 1 } }, { a: { execute: () => 2 } }], /"a".*Two tools have this name/],
    ["no execute", { a: { description: "A." } }, /"a".*no execute function/],
    ["nothing at all", { a: undefined }, /"a".*no execute function/],
    ["a name with a space", { "a b": { execute: () => 1 } }, /"a b".*cannot call this name/],
    [
      "a schema of something else",
      { a: { inputSchema: { type: "object" }, execute: () => 1 } },
      /"a".*neither from Zod 4/,
    ],
    ["a schema that is not an object", { a: { inputSchema: z.string(), execute: () => 1 } }, /"a".*is not an object/],
  ])("%s is refused when the environment is defined", (_, tools, message) => {
    expect(() => one(() => 1, { tools })).toThrow(
      expect.objectContaining({ code: "config.invalid", message: expect.stringMatching(message) }),
    );
  });

  test("types: the state comes from reset, the input from the schema", () => {
    defineEnvironment({
      id: "typed",
      tasks: [{ goal: 1 }],
      reset: ({ task }) => ({ prompt: "Go.", state: { seen: [task.goal] } }),
      tools: {
        look: {
          inputSchema: z.object({ at: z.string().default("here") }),
          execute: ({ at }, { state, task, signal }) => {
            expectTypeOf(at).toEqualTypeOf<string>();
            expectTypeOf(state).toEqualTypeOf<{ seen: number[] }>();
            expectTypeOf(task).toEqualTypeOf<{ goal: number }>();
            expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
          },
        },
        typed: defineTool({
          inputSchema: z.object({ n: z.number() }),
          execute: ({ n }, { state }: ToolContext<{ seen: number[] }>) => state.seen.push(n),
        }),
      },
      step: ({ state }) => ({ reward: state.seen.length }),
    });
    defineEnvironment({
      id: "ill-typed",
      tasks: [1],
      reset: () => ({ prompt: "Go.", state: { seen: 1 } }),
      tools: {
        wrong: {
          inputSchema: z.object({ n: z.number() }),
          // @ts-expect-error: the state has no such key
          execute: ({ n }, { state }) => state.other + n,
        },
      },
      step: () => ({}),
    });
  });
});

test("demonstrations with calls train on the tokens of the calls (byte tokenizer)", async () => {
  const task = await (await counter.tasks("train")).get(0);
  const renderer = createByteRenderer();
  const episode = await rolloutEpisode({
    environment: counter,
    task,
    policies: demonstrationPolicy({ environment: counter, renderer }),
    seed: 0,
  });
  expect(episode.agents.agent!.reward).toEqual(scored(1));
  const [sequence, ...others] = tokenSequences(episode);
  expect(others).toEqual([]);
  const text = (mask: 0 | 1): string =>
    String.fromCharCode(...sequence!.ids.filter((id, i) => sequence!.mask[i] === mask && id < 256));
  expect(text(1)).toBe('add{"by":3}readdone');
  expect(text(0)).toBe("add,readCount to 3.3The count is 3.");
  const [calls] = episode.agents.agent!.nodes.flatMap(({ message }): Message[] => (message.toolCalls ? [message] : []));
  const parsed = renderer.parse({ ids: renderer.complete(calls!), finish: "stop" });
  expect(parsed).toEqual({ message: calls, finish: "tool-calls" });
});
