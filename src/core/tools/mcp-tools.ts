import { isDeepStrictEqual } from "node:util";
import type { Client, Transport } from "@modelcontextprotocol/client";
import { LyceumError, toErrorData } from "../../contract/errors/index.ts";
import { tryParseJson } from "../../contract/json.ts";
import { withoutUrlSecrets } from "../text/secrets.ts";
import { warn } from "../text/warn.ts";
import type { Tool, ToolRecord } from "./tool.ts";

/** A server of the Model Context Protocol: a program to start, or an HTTP address. */
export type McpServer =
  | {
      readonly command: string;
      readonly args?: readonly string[];
      /** Replaces the few variables that are passed on by default. */
      readonly env?: Readonly<Record<string, string>>;
      readonly cwd?: string;
    }
  | { readonly url: string; readonly headers?: Readonly<Record<string, string>> };

/** The tools of a server while it is connected. Disposing closes the connection and stops a started server. */
export interface McpTools extends AsyncDisposable {
  readonly tools: ToolRecord;
}

/** The maximum number of characters of a server's stderr in an error. */
const keptStderr = 2000;

/** The longest timer. The signal of a call is its limit. The client's own 60 s must not end it before. */
const longestTimer = 2 ** 31 - 1;

/** The timeout of the connection, in milliseconds. */
const connectMs = 30_000;

/**
 * Connects to a server and lists its tools. Requires the package `@modelcontextprotocol/client`. One connection serves
 * all episodes, so state that a server keeps between calls is shared between episodes. If the connection is lost, the
 * next call connects again. A call that was under way is repeated once if it cannot have arrived, or if the tool is
 * annotated with `readOnlyHint` or `idempotentHint`. Otherwise, and if that fails too, it rejects with
 * `data.unavailable`. Images and audio are read as `(image)` and `(audio)`, with one warning. Rejects with
 * `config.invalid` if the package is not installed, and with `data.unavailable` if the server does not answer.
 *
 * @example
 * import { mcpTools } from "lyceum";
 * // The `open` of an environment whose tools are those of a server.
 * export const open = () =>
 *   mcpTools({ command: "npx", args: ["-y", "@modelcontextprotocol/server-filesystem", "docs"] });
 */
export async function mcpTools(server: McpServer, options: { readonly signal?: AbortSignal } = {}): Promise<McpTools> {
  const client = await loadClient();
  const connection = new Connection(server, client, options.signal);
  try {
    const { tools } = await connection.listTools();
    const hidden = new Set<string>();
    const warnHidden = (type: string): void => {
      if (hidden.size === hidden.add(type).size) return;
      warn("Tools", `A tool of the MCP server ${nameOf(server)} returned ${type}, which models read as "(${type})".`);
    };
    return {
      tools: Object.fromEntries(
        tools.map(({ name, description = "", inputSchema, annotations }): [string, Tool] => [
          name,
          {
            description,
            inputSchema: { jsonSchema: inputSchema },
            execute: async (input, { signal }) => {
              const repeatable = annotations?.readOnlyHint === true || annotations?.idempotentHint === true;
              const result = await connection.callTool({ name, arguments: input }, { signal, repeatable });
              const text = resultText(result, warnHidden);
              if (result.isError === true) throw new Error(text);
              return text;
            },
          },
        ]),
      ),
      [Symbol.asyncDispose]: () => connection.close(),
    };
  } catch (error) {
    await connection.close();
    options.signal?.throwIfAborted();
    throw unavailable(server, { error, stderr: connection.stderr });
  }
}

type CallResult = Awaited<ReturnType<Client["callTool"]>>;

/**
 * Returns the text of a result for the model. Appends structured content unless a text already contains it. `onHidden`
 * gets the type of each part that has no text.
 */
function resultText({ content = [], structuredContent }: CallResult, onHidden: (type: string) => void): string {
  const texts = content.map((part) => partText(part, onHidden));
  const isTold = texts.some((text) => isDeepStrictEqual(tryParseJson(text), structuredContent));
  if (structuredContent !== undefined && !isTold) texts.push(JSON.stringify(structuredContent));
  return texts.join("\n");
}

function partText(part: CallResult["content"][number], onHidden: (type: string) => void): string {
  switch (part.type) {
    case "text":
      return part.text;
    case "resource": {
      const { resource } = part;
      if ("text" in resource) return resource.text;
      return `(resource ${resource.uri}${resource.mimeType === undefined ? "" : `, ${resource.mimeType}`})`;
    }
    case "resource_link": {
      const { uri, name, description } = part;
      return `${name}: ${uri}${description === undefined ? "" : ` (${description})`}`;
    }
    default:
      onHidden(part.type);
      return `(${part.type})`;
  }
}

type ClientModule = Awaited<ReturnType<typeof loadClient>>;

/** A connection to a server. It connects on first use, and again after the connection is lost. */
class Connection {
  readonly #server: McpServer;
  readonly #module: ClientModule;
  readonly #request: { readonly timeout: number; readonly signal?: AbortSignal };
  #client: Promise<Client> | undefined;
  #stderr = "";

  constructor(server: McpServer, module: ClientModule, signal: AbortSignal | undefined) {
    this.#server = server;
    this.#module = module;
    this.#request = { timeout: connectMs, signal };
  }

  /** The end of a started server's stderr. */
  get stderr(): string {
    return this.#stderr;
  }

  async listTools(): Promise<Awaited<ReturnType<Client["listTools"]>>> {
    return (await this.#connected()).listTools(undefined, this.#request);
  }

  async callTool(
    call: { readonly name: string; readonly arguments: Record<string, unknown> },
    { signal, repeatable }: { readonly signal: AbortSignal; readonly repeatable: boolean },
  ): Promise<Awaited<ReturnType<Client["callTool"]>>> {
    for (let attempt = 1; ; attempt++) {
      const connected = this.#connected();
      let isSent = false;
      try {
        const client = await connected;
        isSent = true;
        return await client.callTool(call, { signal, timeout: longestTimer });
      } catch (error) {
        signal.throwIfAborted();
        // Errors that the server reports for a call are for the model.
        if (this.#module.ProtocolError.isInstance(error)) throw error;
        if (this.#client === connected) await this.close();
        const mayHaveRun = isSent && !repeatable && !neverArrived(error, this.#module);
        if (attempt === 2 || mayHaveRun) throw unavailable(this.#server, { error, stderr: this.#stderr, mayHaveRun });
      }
    }
  }

  async close(): Promise<void> {
    const connected = this.#client;
    this.#client = undefined;
    await connected?.then(
      (client) => client.close(),
      () => {},
    );
  }

  #connected(): Promise<Client> {
    this.#client ??= this.#connect();
    return this.#client;
  }

  async #connect(): Promise<Client> {
    const client = new this.#module.Client({ name: "lyceum", version: "1" });
    try {
      const transport = transportTo(this.#server, this.#module);
      if (transport instanceof this.#module.StdioClientTransport) {
        transport.stderr?.on("data", (chunk: Buffer) => {
          this.#stderr = (this.#stderr + chunk.toString()).slice(-keptStderr);
        });
      }
      await client.connect(transport, this.#request);
      return client;
    } catch (error) {
      await client.close();
      throw error;
    }
  }
}

/** True if a call cannot have reached its tool: nothing listens, or the server refused the request itself. */
function neverArrived(error: unknown, { SdkError, SdkErrorCode, SdkHttpError }: ClientModule): boolean {
  if (SdkHttpError.isInstance(error)) return error.status >= 400 && error.status < 500;
  if (SdkError.isInstance(error) && error.code === SdkErrorCode.NotConnected) return true;
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"].includes(code ?? "")) return true;
  }
  return false;
}

/** The address or the command line of a server. */
function nameOf(server: McpServer): string {
  return withoutUrlSecrets("url" in server ? server.url : [server.command, ...(server.args ?? [])].join(" "));
}

function transportTo(server: McpServer, module: ClientModule): Transport {
  if ("url" in server) {
    // Headers may contain a key, so redirects are not followed.
    const requestInit: RequestInit =
      server.headers === undefined ? {} : { headers: { ...server.headers }, redirect: "error" };
    return new module.StreamableHTTPClientTransport(new URL(server.url), { requestInit });
  }
  return new module.StdioClientTransport({
    command: server.command,
    args: [...(server.args ?? [])],
    stderr: "pipe",
    ...(server.env === undefined ? {} : { env: { ...server.env } }),
    cwd: server.cwd,
  });
}

function unavailable(
  server: McpServer,
  options: { readonly error: unknown; readonly stderr: string; readonly mayHaveRun?: boolean },
): LyceumError {
  const { error, stderr, mayHaveRun = false } = options;
  const written = stderr.trim();
  return new LyceumError({
    code: "data.unavailable",
    message:
      `The MCP server ${nameOf(server)} does not answer: ${withoutUrlSecrets(toErrorData(error).message)}` +
      (mayHaveRun ? " The call may have run, so it is not repeated." : "") +
      (written === "" ? "" : `\nIts stderr ends with:\n${written}`),
    hint: mayHaveRun
      ? "Check the server's log. A tool that may be called twice can say so by the annotation idempotentHint or readOnlyHint."
      : "Check that it is running and supports the protocol over this transport. If it redirects, use the address that it redirects to.",
    cause: error,
  });
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
