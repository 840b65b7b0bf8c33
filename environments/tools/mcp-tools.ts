import type { Transport } from "@modelcontextprotocol/client";
import { LyceumError, toErrorData } from "../../src/errors/index.ts";
import { jsonSchemaTool } from "./json-schema-tool.ts";
import type { Tool } from "./tool.ts";

/** A server of the Model Context Protocol: a program that is started, or one that is reached by HTTP. */
export type McpServer =
  | {
      readonly command: string;
      readonly args?: readonly string[];
      /** In place of the few variables that are handed on by default. */
      readonly env?: Readonly<Record<string, string>>;
      readonly cwd?: string;
    }
  | { readonly url: string; readonly headers?: Readonly<Record<string, string>> };

/** The tools of a server, as long as the connection stands. Disposing ends it, and a server that was started. */
export interface McpTools extends AsyncDisposable {
  readonly tools: readonly Tool[];
}

/** How long a server may take to answer the first time. */
const connectMs = 30_000;

/**
 * Connects to a server and lists its tools. Needs the package `@modelcontextprotocol/client`. One connection serves
 * every episode: what a server keeps between calls, it keeps between episodes. Rejects with `config.invalid` where the
 * package is not installed, `data.unavailable` where the server does not answer.
 */
export async function mcpTools(server: McpServer, options: { readonly signal?: AbortSignal } = {}): Promise<McpTools> {
  const { Client, StreamableHTTPClientTransport, StdioClientTransport } = await loadClient();
  const transport: Transport =
    "url" in server
      ? new StreamableHTTPClientTransport(new URL(server.url), { requestInit: { headers: { ...server.headers } } })
      : new StdioClientTransport({
          command: server.command,
          args: [...(server.args ?? [])],
          stderr: "ignore",
          ...(server.env === undefined ? {} : { env: { ...server.env } }),
          ...(server.cwd === undefined ? {} : { cwd: server.cwd }),
        });
  const client = new Client({ name: "lyceum", version: "1" });
  const request = { timeout: connectMs, ...(options.signal === undefined ? {} : { signal: options.signal }) };
  try {
    await client.connect(transport, request);
    const { tools } = await client.listTools(undefined, request);
    return {
      tools: tools.map(({ name, description = "", inputSchema }) =>
        jsonSchemaTool({
          name,
          description,
          jsonSchema: inputSchema,
          call: async (input, { signal }) => {
            const result = await client.callTool({ name, arguments: input as Record<string, unknown> }, { signal });
            const text = result.content.map((part) => (part.type === "text" ? part.text : `(${part.type})`)).join("\n");
            if (result.isError === true) throw new Error(text);
            return text;
          },
        }),
      ),
      [Symbol.asyncDispose]: () => client.close(),
    };
  } catch (error) {
    await client.close();
    options.signal?.throwIfAborted();
    throw new LyceumError({
      code: "data.unavailable",
      message: `The MCP server ${"url" in server ? server.url : server.command} does not answer: ${toErrorData(error).message}`,
      hint: "Check that it runs, and that it speaks the protocol over this transport.",
      cause: error,
    });
  }
}

async function loadClient() {
  try {
    return {
      ...(await import("@modelcontextprotocol/client")),
      ...(await import("@modelcontextprotocol/client/stdio")),
    };
  } catch (error) {
    throw new LyceumError({
      code: "config.invalid",
      message: "Tools of MCP servers need the package @modelcontextprotocol/client, which is not installed.",
      hint: "Run npm install @modelcontextprotocol/client.",
      cause: error,
    });
  }
}
