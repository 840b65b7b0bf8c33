import { unknownNameError } from "../../src/errors/index.ts";
import { mcpTools } from "../../src/tools/mcp-tools.ts";
import type { ToolRecord } from "../../src/tools/tool.ts";
import { type McpServerOptions, namedServer } from "./mcp-options.ts";

/** Connections to the servers of a config, for as long as somebody holds them. */
export interface HeldServers extends AsyncDisposable {
  /** One record of each server. */
  readonly tools: readonly ToolRecord[];
}

/** Connects to servers for the first that holds them, and ends the connections when the last lets go. */
export class McpConnections {
  readonly #servers: readonly McpServerOptions[];
  #opened: Promise<HeldServers> | undefined;
  #holders = 0;

  constructor(servers: readonly McpServerOptions[]) {
    this.#servers = servers;
  }

  /**
   * The tools of all servers, until the hold is disposed of. Rejects with `data.unavailable` where a server does not
   * answer and `config.invalid` where it lacks a tool that is asked for; the next hold tries again.
   */
  async hold(): Promise<HeldServers> {
    this.#holders++;
    this.#opened ??= connect(this.#servers);
    const opened = this.#opened;
    let holds = true;
    const release = async (): Promise<void> => {
      if (!holds) return;
      holds = false;
      this.#holders--;
      if (this.#holders > 0 || this.#opened !== opened) return;
      this.#opened = undefined;
      await (await opened)[Symbol.asyncDispose]();
    };
    try {
      return { tools: (await opened).tools, [Symbol.asyncDispose]: release };
    } catch (error) {
      if (this.#opened === opened) this.#opened = undefined;
      this.#holders--;
      throw error;
    }
  }
}

async function connect(servers: readonly McpServerOptions[]): Promise<HeldServers> {
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
