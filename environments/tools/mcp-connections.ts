import { unknownNameError } from "../../src/contract/errors/index.ts";
import { mcpTools } from "../../src/core/tools/mcp-tools.ts";
import type { ToolRecord } from "../../src/core/tools/tool.ts";
import { type McpServerOptions, namedServer } from "./mcp-options.ts";

/** The tools of the connected servers. Disposing closes the connections. */
export interface ConnectedServers extends AsyncDisposable {
  /** One record per server. */
  readonly tools: readonly ToolRecord[];
}

/**
 * Connects to servers. Rejects with `data.unavailable` if a server does not answer, and with `config.invalid` if a
 * server lacks a requested tool.
 */
export async function connectServers(servers: readonly McpServerOptions[]): Promise<ConnectedServers> {
  await using stack = new AsyncDisposableStack();
  const tools: ToolRecord[] = [];
  for (const server of servers) {
    const { tools: offered } = stack.use(await mcpTools(namedServer(server)));
    tools.push(chosen(server, offered));
  }
  const owned = stack.move();
  return { tools, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

function chosen({ tools: names }: McpServerOptions, offered: ToolRecord): ToolRecord {
  if (names === undefined) return offered;
  return Object.fromEntries(
    names.map((name) => {
      const tool = Object.hasOwn(offered, name) ? offered[name] : undefined;
      if (tool === undefined) {
        throw unknownNameError({ kind: "tool of an MCP server", name, known: Object.keys(offered) });
      }
      return [name, tool];
    }),
  );
}
