import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { callTool, defaultToolLimits } from "../../../src/core/tools/call-tool.ts";
import { mcpTools } from "../../../src/core/tools/mcp-tools.ts";
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
