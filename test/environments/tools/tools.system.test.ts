import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { environments, toolsEnvironment } from "../../../environments/index.ts";
import { answerText, type ToolsTask } from "../../../environments/tools/tools-task.ts";
import { LyceumError } from "../../../src/contract/errors/index.ts";
import { textMessage } from "../../../src/contract/message.ts";
import type { Taskset } from "../../../src/contract/taskset.ts";
import { checkDisjoint } from "../../../src/core/taskset/disjoint.ts";
import { callMessage } from "../../../src/core/tools/call-message.ts";
import { checkEnvironment } from "../../../src/entry-points/testing.ts";
import { createTinyHub, type TinyHub } from "../../examples/tiny-hub.ts";
import { trainOneStep } from "../../examples/train-one-step.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { climb } from "../hill-climber.ts";
import { callText, play, replyOf, rewardOf } from "./play.ts";

async function take(taskset: Taskset<ToolsTask>, count: number): Promise<ToolsTask[]> {
  return Promise.all(Array.from({ length: count }, async (_, index) => (await taskset.get(index)).task));
}

const sum: ToolsTask = {
  question: "What is 123456 * 1000?",
  answer: "123456000",
  tools: ["calculator"],
  solution: [callMessage(["calculator", { expression: "123456 * 1000" }]), answerText("123456000")],
};

describe("tasks and conformance", () => {
  test("passes the conformance suite", async () => {
    expect((await checkEnvironment(toolsEnvironment(), { tasks: 8, episodes: 2 })).problems).toEqual([]);
    expect(
      (await checkEnvironment(toolsEnvironment({ maxTurns: 1, protocol: "native" }), { split: "test" })).problems,
    ).toEqual([]);
  });

  test("holds out 200 distinct tasks of every kind, which no seed puts into train", async () => {
    const held = await toolsEnvironment().tasks("test");
    const tasks = await take(held, 200);
    expect(held.length).toBe(200);
    expect(new Set(tasks.map(({ question, files }) => JSON.stringify([question, files]))).size).toBe(200);
    expect(new Set(tasks.map(({ kind }) => kind))).toEqual(new Set(["arithmetic", "search", "file"]));
    for (const seed of [0, 5]) {
      await checkDisjoint(await toolsEnvironment({ seed }).tasks("train"), held, { sample: 1000 });
    }
  });

  test("an expert gets the maximum reward for every kind, with and without a calculator", async () => {
    for (const tools of [
      ["calculator", "search", "files"],
      ["search", "files"],
    ] as const) {
      const environment = toolsEnvironment({ tools: [...tools] });
      for (const task of await take(await environment.tasks("train"), 60)) {
        const messages = environment.demonstrate!(task)!.map(({ agent }) => agent!);
        expect(rewardOf(await play(environment, task, messages)), task.question).toBeCloseTo(1, 12);
      }
    }
  });

  test("a policy that guesses gets a low reward", async () => {
    const environment = toolsEnvironment();
    for (const task of await take(await environment.tasks("train"), 30)) {
      const nonsense = [
        "hello",
        callText("nothing", {}),
        callText("calculator", { expression: "1 + 1" }),
        answerText("7"),
      ];
      expect(rewardOf(await play(environment, task, nonsense))).toBeLessThanOrEqual(0.1);
    }
  });

  test("neither the question nor the environment's messages contain the answer", async () => {
    const environment = toolsEnvironment();
    for (const task of await take(await environment.tasks("train"), 60)) {
      expect(`${task.question} ${JSON.stringify(task.files)}`).not.toContain(task.answer);
      expect(JSON.stringify(await play(environment, task, ["?", answerText("1")]))).not.toContain(task.answer);
    }
  });

  test("custom tasks come from JSONL, and an error names the line of a row without a question", async () => {
    const folder = temporaryFolder();
    try {
      const path = join(folder, "tasks.jsonl");
      const rows = [
        { question: "Who?", answer: "Ada" },
        { question: "6 * 7?", answer: 42, tools: ["calculator"] },
        {},
        { question: "?", answer: 1, tools: ["python"] },
      ];
      await writeFile(path, rows.map((row) => JSON.stringify(row)).join("\n"));
      const environment = toolsEnvironment({ path });
      expect(environment.splits).toEqual(["train"]);
      const tasks = await environment.tasks("train");
      const [first, second] = await take(tasks, 2);
      expect(rewardOf(await play(environment, first!, [answerText("ada.")]))).toBeCloseTo(1, 12);
      expect(
        rewardOf(await play(environment, second!, [callText("calculator", { expression: "6*7" }), answerText("42")])),
      ).toBeCloseTo(1, 12);
      await expect(tasks.get(2)).rejects.toThrow(/tasks\.jsonl:3/);
      await expect(tasks.get(3)).rejects.toMatchObject({ code: "data.malformed", message: 'Unknown tool "python".' });
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test("no tools and no custom tasks is an error that says so", async () => {
    await expect(toolsEnvironment({ tools: [] }).tasks("train")).rejects.toMatchObject({ code: "config.invalid" });
    expect(() => environments.create("tools", { tools: ["calculater"] })).toThrow(/tools/);
  });
});

describe("the reward", () => {
  const environment = toolsEnvironment({ maxTurns: 6 });
  const call = callText("calculator", { expression: "123456 * 1000" });
  const right = answerText("123456000");

  test.each<[string, readonly string[], number]>([
    ["the required tool, then the answer", [call, right], 1],
    ["a turn more costs a fourth of the efficiency", [call, call, right], 0.975],
    ["the last turn has no efficiency left", [call, call, call, call, call, right], 0.9],
    ["without the tool", [right], 0.8],
    ["with another tool", [callText("web_search", { query: "Everest" }), right], 0.8],
    ["with a call that failed", [callText("calculator", { expression: "1/0" }), right], 0.8],
    ["a wrong answer, however many calls", [call, call, call, answerText("5")], 0.1],
    ["no answer at all", [call, call, call, call, call, call], 0],
    ["part of the answer", [call, answerText("123456")], 0.1],
    ["the answer among others", [call, answerText("1 123456000 2")], 0.1],
    ["several answers: the last counts", [call, `${right} ${answerText("7")}`], 0.1],
    ["an answer next to a call does not count", [`${call}${right}`, right], 1],
    ["separators and zeros", [call, answerText(" +123,456,000.00 ")], 1],
    ["reasoning is no answer", [call, `<think>${right}</think>`, answerText("3")], 0.1],
  ])("%s", async (_, messages, reward) => {
    expect(rewardOf(await play(environment, sum, messages))).toBeCloseTo(reward, 12);
  });

  test.each([
    "calculator",
    "search",
  ] as const)("an answer-blind climb of 10,000 episodes with %s stays at or under 0.1", async (name) => {
    const cheap = toolsEnvironment({ tools: [name] });
    const task = await (await cheap.tasks("train")).get(0);
    const words = [
      ...Array.from({ length: 20 }, (_, i) => String(i * 37)),
      ...task.task.question.split(" "),
      ...["<answer>", "</answer>", "<answer>42</answer>", "<tool_call>", "</tool_call>"],
      callText(task.task.tools[0]!, { expression: "1+1" }),
      callText(task.task.tools[0]!, { query: "height" }),
    ];
    const { best, text } = await climb({ environment: cheap, task, words });
    expect(best, text).toBeLessThanOrEqual(0.1);
  });
});

describe("calls", () => {
  const environment = toolsEnvironment();

  test("native calls, also unparsable ones, get tool messages with their ids", async () => {
    const [result, end] = await play(environment, sum, [
      {
        message: {
          ...textMessage("assistant", ""),
          toolCalls: [
            { id: "a", name: "calculator", arguments: { expression: "2^10" } },
            { id: "b", name: "calculatr", arguments: {} },
          ],
        },
        finish: "tool-calls",
        parseErrors: [{ message: "the tool call is not JSON", text: "{" }],
      },
      answerText("123456000"),
    ]);
    const messages = result!.observations.agent!.messages;
    expect(messages.map(({ role, toolCallId, name }) => [role, toolCallId, name])).toEqual([
      ["tool", "a", "calculator"],
      ["tool", "b", "calculatr"],
      ["tool", undefined, undefined],
      ["user", undefined, undefined],
    ]);
    expect(replyOf(result)).toMatch(/^1024\nError: Unknown tool "calculatr"\. Did you mean "calculator"\?/);
    expect(replyOf(result)).toContain("not JSON");
    expect(rewardOf([end!])).toBeCloseTo(1, 12);
  });

  test.each<[string, RegExp]>([
    ['<tool_call>{"name": "calculator"', /no end/],
    ["<tool_call>calculator(2)</tool_call>", /not JSON/],
    ['<tool_call>{"arguments": {}}</tool_call>', /no "name"/],
    [callText("calculator", { expr: "1" }), /input of calculator is wrong[\s\S]*expression/],
    [callText("read_file", { path: 7 }), /input of read_file is wrong/],
    [callText("__proto__", {}), /Unknown tool/],
    [callText("toString", {}), /Unknown tool/],
    ["I think it is 5", /no call and no answer/],
    ["", /no call and no answer/],
  ])("%s is answered with instructions", async (text, reply) => {
    expect(replyOf((await play(environment, sum, [text]))[0])).toMatch(reply);
  });

  test("the last message is announced, and calls beyond eight are rejected", async () => {
    const [first] = await play(toolsEnvironment({ maxTurns: 2 }), sum, [
      callText("calculator", { expression: "1" }).repeat(9),
    ]);
    expect(replyOf(first)).toMatch(/at most 8 calls/);
    expect(replyOf(first)).toMatch(/next message is the last/);
  });

  test("the native protocol describes the tools in the spec, the tagged one in the prompt", async () => {
    const native = toolsEnvironment({ protocol: "native" });
    expect(native.spec.tools?.map(({ name }) => name)).toEqual([
      "calculator",
      "web_search",
      "write_file",
      "read_file",
      "list_files",
    ]);
    expect(native.spec.tools![0]!.parameters).toMatchObject({ type: "object", required: ["expression"] });
    expect(environment.spec.tools).toBeUndefined();
    const instance = await environment.create();
    const { agent } = await instance.reset({ task: sum, seed: 0 });
    expect(JSON.stringify(agent!.messages[0])).toContain("list_files");
    await instance.close();
  });
});

describe("custom tools", () => {
  const own = (call: () => unknown, options = {}): ReturnType<typeof toolsEnvironment> =>
    toolsEnvironment(options, {
      tools: { own: { execute: call } },
    });
  const reply = async (environment: ReturnType<typeof toolsEnvironment>): Promise<string> =>
    replyOf((await play(environment, sum, [callText("own", {})]))[0]);

  test("values are shown as JSON, errors as errors, and long output is truncated", async () => {
    expect(await reply(own(() => ({ a: [1] })))).toContain('{"a":[1]}');
    expect(await reply(own(() => Promise.reject(new Error("no luck"))))).toContain("Error: no luck");
    expect(await reply(own(() => "x".repeat(5000), { outputCharacters: 100 }))).toMatch(
      />\nx{100}\n\.\.\. \(4900 more/,
    );
  });

  test("a tool that never ends is stopped and gets an error", async () => {
    expect(await reply(own(() => new Promise(() => {}), { callSeconds: 0.02 }))).toContain("longer than 0.02 s");
  });

  test("an abort from outside ends the step with its reason", async () => {
    const controller = new AbortController();
    const environment = own(() => {
      controller.abort(new Error("enough"));
      return new Promise(() => {});
    });
    const instance = await environment.create();
    await instance.reset({ task: sum, seed: 0 });
    const message = textMessage("assistant", callText("own", {}));
    const step = instance.step({ agent: { message, finish: "stop" } }, { signal: controller.signal });
    await expect(step).rejects.toThrow("enough");
    await instance.close();
  });

  test("a failure of the infrastructure leaves the episode unscored", async () => {
    const down = own(() => Promise.reject(new LyceumError({ code: "data.unavailable", message: "down" })));
    expect(rewardOf(await play(down, sum, [callText("own", {})]))).toBe("unscored");
  });
});

describe("training", () => {
  let hub: TinyHub;
  beforeAll(async () => {
    hub = await createTinyHub();
  });
  afterAll(() => hub[Symbol.asyncDispose]());

  test("one step of GRPO", async () => {
    await using run = await trainOneStep({
      config: {
        environment: { id: "tools", tools: ["calculator"], maxTurns: 2, limit: 8 },
        algorithm: { id: "grpo", groupSize: 2 },
        model: { path: "HuggingFaceTB/SmolLM2-135M-Instruct" },
      },
      hub,
    });
    expect(run.output).toMatch(/\nstep 1\/1 /);
  });
});
