import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { callTool } from "../../../src/core/tools/call-tool.ts";
import { mcpTools } from "../../../src/core/tools/mcp-tools.ts";
import { defaultToolLimits } from "../../../src/core/tools/tool-limits.ts";
import { createToolSet } from "../../../src/core/tools/tool-set.ts";
import { serve } from "./serve.ts";

const results: Readonly<Record<string, readonly [result: object, shown: string]>> = {
  structured: [{ content: [], structuredContent: { sum: 5 } }, '{"sum":5}'],
  told: [{ content: [{ type: "text", text: '{ "sum": 5 }' }], structuredContent: { sum: 5 } }, '{ "sum": 5 }'],
  both: [{ content: [{ type: "text", text: "Done." }], structuredContent: { sum: 5 } }, 'Done.\n{"sum":5}'],
  resource: [{ content: [{ type: "resource", resource: { uri: "file:///a.txt", text: "hello" } }] }, "hello"],
  blob: [
    { content: [{ type: "resource", resource: { uri: "file:///a.bin", mimeType: "application/zip", blob: "aGk=" } }] },
    "(resource file:///a.bin, application/zip)",
  ],
  link: [
    { content: [{ type: "resource_link", uri: "file:///a.txt", name: "a", description: "The a." }] },
    "a: file:///a.txt (The a.)",
  ],
  image: [{ content: [{ type: "image", data: "aGk=", mimeType: "image/png" }] }, "(image)"],
};

function resultServer(): McpServer {
  const server = new McpServer({ name: "results", version: "1.0.0" });
  for (const [name, [result]] of Object.entries(results)) {
    server.registerTool(name, { description: name, inputSchema: z.object({}) }, async () => result as never);
  }
  return server;
}

test.each(Object.entries(results))("a model reads the result %s", async (name, [, shown]) => {
  const handler = createMcpHandler(resultServer);
  await using http = await serve((request) => handler.fetch(request));
  await using server = await mcpTools({ url: `${http.url}/mcp` });
  const result = await callTool({
    tools: createToolSet(server.tools),
    limits: defaultToolLimits,
    call: { name, arguments: {} },
    context: (signal) => ({ signal }) as never,
  });
  expect(result).toEqual({ text: shown, ok: true });
});

describe("a slow tool", () => {
  const started = async () => {
    const answers: PromiseWithResolvers<void>[] = [];
    const handler = createMcpHandler(() => {
      const server = new McpServer({ name: "slow", version: "1.0.0" });
      server.registerTool("slow", { description: "Waits.", inputSchema: z.object({}) }, async () => {
        const answer = Promise.withResolvers<void>();
        answers.push(answer);
        await answer.promise;
        return { content: [{ type: "text", text: "done" }] };
      });
      server.registerTool("fast", { description: "Answers.", inputSchema: z.object({}) }, async () => ({
        content: [{ type: "text", text: "here" }],
      }));
      return server;
    });
    const http = await serve((request) => handler.fetch(request));
    const server = await mcpTools({ url: `${http.url}/mcp` });
    onTestFinished(async () => {
      for (const answer of answers) answer.resolve();
      await server[Symbol.asyncDispose]();
      await http[Symbol.asyncDispose]();
    });
    const call = (name: string, callMs: number) =>
      callTool({
        tools: createToolSet(server.tools),
        limits: { ...defaultToolLimits, callMs },
        call: { name, arguments: {} },
        context: (signal) => ({ signal }) as never,
      });
    return { call, answers };
  };

  test("is waited for up to the limit of a call, beyond the minute of the protocol's client", async () => {
    const { call, answers } = await started();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const result = call("slow", 600_000);
      while (answers.length === 0) await new Promise((resolve) => setImmediate(resolve));
      vi.advanceTimersByTime(10 * 60_000);
      answers[0]!.resolve();
      expect(await result).toEqual({ text: "done", ok: true });
    } finally {
      vi.useRealTimers();
    }
  });

  test("that is stopped runs once, and the server goes on", async () => {
    const { call, answers } = await started();
    expect(await call("slow", 300)).toMatchObject({ ok: false, text: expect.stringContaining("longer than 0.3 s") });
    expect(answers).toHaveLength(1);
    expect(await call("fast", 30_000)).toEqual({ text: "here", ok: true });
    expect(answers).toHaveLength(1);
  });
});

test("images are told once", async () => {
  const warnings = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
  onTestFinished(() => void warnings.mockRestore());
  const handler = createMcpHandler(resultServer);
  await using http = await serve((request) => handler.fetch(request));
  await using server = await mcpTools({ url: `${http.url}/mcp` });
  const { signal } = new AbortController();
  for (let i = 0; i < 3; i++) expect(await server.tools.image!.execute!({}, { signal } as never)).toBe("(image)");
  expect(warnings.mock.calls.map(([text]) => text)).toEqual([expect.stringContaining("returned image")]);
});

describe("a JSON Schema", () => {
  const shown = async (parameters: object, input: unknown): Promise<boolean> => {
    const tools = createToolSet({ f: { inputSchema: { jsonSchema: parameters }, execute: () => "ok" } });
    const call = { name: "f", arguments: input as never };
    return (await callTool({ tools, limits: defaultToolLimits, call, context: () => ({}) as never })).ok;
  };

  test("may have the keyword then", async () => {
    const parameters = {
      type: "object",
      properties: { a: { type: "string" } },
      if: { required: ["a"] },
      // biome-ignore lint/suspicious/noThenProperty: the keyword is what is tested.
      then: { required: ["b"] },
    };
    expect(await shown(parameters, { a: "x", b: 1 })).toBe(true);
  });

  test.each([
    [{ type: "string", nullable: true }, true],
    [{ enum: ["x"], nullable: true }, true],
    [{ anyOf: [{ type: "string" }], nullable: true }, true],
    [{ type: "object", properties: { nullable: { type: "string" } }, nullable: true }, true],
    [{ type: "string", nullable: false }, false],
    [{ type: "string" }, false],
  ])("%j accepts null: %s", async (a, accepts) => {
    const parameters = { type: "object", properties: { a }, required: ["a"] };
    expect(await shown(parameters, { a: null })).toBe(accepts);
    expect(await shown(parameters, { a: 5 })).toBe(false);
  });
});
