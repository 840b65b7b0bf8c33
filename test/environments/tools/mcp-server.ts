import { appendFileSync } from "node:fs";
import { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

/** A server of the Model Context Protocol with two tools. Run as a program, it uses stdio. */
export function wordServer(): McpServer {
  const server = new McpServer({ name: "words", version: "1.0.0" });
  server.registerTool(
    "count_letters",
    { description: "Counts letters.", inputSchema: z.object({ word: z.string(), letter: z.string().length(1) }) },
    async ({ word, letter }) => ({ content: [{ type: "text", text: String(word.split(letter).length - 1) }] }),
  );
  server.registerTool("fails", { description: "Fails.", inputSchema: z.object({}) }, async () => ({
    content: [{ type: "text", text: "out of words" }],
    isError: true,
  }));
  return server;
}

if (import.meta.main) {
  const server = wordServer();
  for (const [name, annotations] of [
    ["crash", {}],
    ["crash_idempotent", { idempotentHint: true }],
    ["crash_read_only", { readOnlyHint: true }],
  ] as const) {
    server.registerTool(name, { description: "Ends the server.", inputSchema: z.object({}), annotations }, () => {
      const { WORDS_LOG } = process.env;
      if (WORDS_LOG !== undefined) appendFileSync(WORDS_LOG, `${name}\n`);
      process.stderr.write("the disk of the server is gone\n", () => process.exit(1));
      return new Promise(() => {});
    });
  }
  server.registerTool("key", { description: "Tells a variable.", inputSchema: z.object({}) }, async () => ({
    content: [{ type: "text", text: `key: ${process.env.WORDS_KEY}, id ${process.pid}` }],
  }));
  await server.connect(new StdioServerTransport());
}
