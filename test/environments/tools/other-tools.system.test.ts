import { join } from "node:path";
import { createMcpHandler } from "@modelcontextprotocol/server";
import { jsonSchema, tool } from "ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { toolsEnvironment } from "../../../environments/index.ts";
import { answerText } from "../../../environments/tools/tools-task.ts";
import { demonstrationPolicy } from "../../../src/core/policy/demonstration-policy.ts";
import { rolloutEpisode } from "../../../src/core/rollout/rollout-episode.ts";
import { mcpTools } from "../../../src/core/tools/mcp-tools.ts";
import type { ToolRecord } from "../../../src/core/tools/tool.ts";
import { createToolSet } from "../../../src/core/tools/tool-set.ts";
import { callMessage, defineEnvironment, textOf } from "../../../src/index.ts";
import { wordServer } from "./mcp-server.ts";
import { callText, play, replyOf, rewardOf } from "./play.ts";
import { serve } from "./serve.ts";

const task = { question: "?", answer: "3", tools: ["count_letters"] };

async function replies(tools: ToolRecord, messages: readonly string[]): Promise<string[]> {
  return (await play(toolsEnvironment({ tools: [] }, { tools }), task, messages)).map(replyOf);
}

describe("servers of the Model Context Protocol", () => {
  const isServed = async (tools: ToolRecord): Promise<void> => {
    expect(createToolSet(tools).specs[0]).toMatchObject({
      name: "count_letters",
      description: "Counts letters.",
      parameters: { type: "object", required: ["word", "letter"] },
    });
    const call = callText("count_letters", { word: "strawberry", letter: "r" });
    const [count, wrong, fails] = await replies(tools, [
      call,
      callText("count_letters", { word: 5 }),
      callText("fails", {}),
    ]);
    expect(count).toContain("\n3\n");
    expect(wrong).toMatch(/input of count_letters is wrong/);
    expect(fails).toContain("Error: out of words");
    const environment = toolsEnvironment({ tools: [] }, { tools });
    expect(rewardOf(await play(environment, task, [call, answerText("3")]))).toBeCloseTo(1, 12);
    expect(environment.spec.deterministic).toBe(false);
  };

  test("over stdio", async () => {
    await using server = await mcpTools({
      command: process.execPath,
      args: [join(import.meta.dirname, "mcp-server.ts")],
    });
    await isServed(server.tools);
  });

  test("over HTTP, with headers", async () => {
    const handler = createMcpHandler(wordServer);
    const keys = new Set<string | null>();
    await using http = await serve((request) => {
      keys.add(request.headers.get("x-key"));
      return handler.fetch(request);
    });
    await using server = await mcpTools({ url: `${http.url}/mcp`, headers: { "x-key": "k" } });
    await isServed(server.tools);
    expect([...keys]).toEqual(["k"]);
  });

  test("in a custom environment", async () => {
    await using server = await mcpTools({
      command: process.execPath,
      args: [join(import.meta.dirname, "mcp-server.ts")],
    });
    const environment = defineEnvironment({
      id: "letters",
      tasks: [{ word: "strawberry", letter: "r", count: "3" }],
      deterministic: false,
      reset: ({ task: { word, letter } }) => `How many times is ${letter} in ${word}?`,
      tools: server.tools,
      step: ({ task, text }) => ({ reward: text === task.count ? 1 : 0 }),
      demonstrate: ({ word, letter, count }) => [callMessage(["count_letters", { word, letter }], ["fails"]), count],
    });
    const played = await rolloutEpisode({
      environment,
      task: await (await environment.tasks("train")).get(0),
      policies: demonstrationPolicy({ environment }),
      seed: 1,
    });
    const { nodes, reward } = played.agents.agent!;
    const results = nodes.filter(({ message }) => message.role === "tool").map(({ message }) => textOf(message));
    expect(results).toEqual(["3", expect.stringContaining("out of words")]);
    expect(reward).toMatchObject({ status: "scored", value: 1 });
  });

  test("a missing server is an error that names it", async () => {
    await expect(mcpTools({ command: "/no/such/program" })).rejects.toMatchObject({
      code: "data.unavailable",
      message: expect.stringContaining("/no/such/program"),
    });
    await using http = await serve(() => new Response("no", { status: 404 }));
    await expect(mcpTools({ url: http.url })).rejects.toMatchObject({ code: "data.unavailable" });
  });
});

describe("tools of the AI SDK", () => {
  const add = z.object({ a: z.number(), b: z.number() });

  test("with Zod or JSON Schema, and with streaming results", async () => {
    const tools = {
      add: tool({ description: "Adds.", inputSchema: add, execute: async ({ a, b }) => ({ sum: a + b }) }),
      upper: tool({
        inputSchema: jsonSchema<{ text: string }>({
          type: "object",
          properties: { text: { type: "string" } },
          required: ["text"],
        }),
        execute: ({ text }) => text.toUpperCase(),
      }),
      steps: tool({
        inputSchema: z.object({}),
        execute: async function* () {
          yield "first";
          yield "last";
        },
      }),
    };
    expect(createToolSet(tools).specs[0]).toMatchObject({
      name: "add",
      description: "Adds.",
      parameters: { type: "object" },
    });
    const shown = await replies(tools, [
      callText("add", { a: 2, b: 3 }),
      callText("add", { a: "2", b: 3 }),
      callText("upper", { text: "abc" }),
      callText("upper", {}),
      callText("steps", {}),
    ]);
    expect(shown[0]).toContain('{"sum":5}');
    expect(shown[1]).toMatch(/input of add is wrong/);
    expect(shown[2]).toContain("\nABC\n");
    expect(shown[3]).toMatch(/input of upper is wrong/);
    expect(shown[4]).toContain("\nlast\n");
  });

  test("the signal reaches the tool at its timeout", async () => {
    let aborted = false;
    const tools = {
      wait: tool({
        inputSchema: z.object({}),
        execute: (_, { abortSignal }) =>
          new Promise<string>(() => {
            abortSignal!.addEventListener("abort", () => {
              aborted = true;
            });
          }),
      }),
    };
    const environment = toolsEnvironment({ tools: [], callSeconds: 0.02 }, { tools });
    const [result] = await play(environment, task, [callText("wait", {})]);
    expect(replyOf(result)).toContain("longer than 0.02 s");
    expect(aborted).toBe(true);
  });

  test("an unavailable server is rejected", () => {
    const ask = tool({ inputSchema: z.object({}), outputSchema: z.object({}) });
    expect(() => toolsEnvironment({}, { tools: { ask } })).toThrow(
      expect.objectContaining({ code: "config.invalid", message: expect.stringContaining('"ask"') }),
    );
  });
});
