import { z } from "zod";
import { LyceumError } from "../../src/contract/errors/index.ts";
import type { McpServer } from "../../src/core/tools/mcp-tools.ts";

/** A server of the Model Context Protocol as a config names it: by a command to start, or by an address. */
export interface McpServerOptions {
  readonly command?: string | undefined;
  readonly args?: readonly string[] | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly cwd?: string | undefined;
  readonly url?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly tools?: readonly string[] | undefined;
}

const variables = z.record(z.string().min(1), z.string());

/** The schema of {@link McpServerOptions}: one of `command` and `url`, and only what belongs to it. */
export const mcpServerSchema: z.ZodType<McpServerOptions> = z
  .strictObject({
    command: z.string().min(1).optional().describe("A program to start, which speaks over its standard streams."),
    args: z.array(z.string()).optional().describe("Arguments of the command."),
    env: variables
      .optional()
      .describe("Variables of the command; a value $NAME is taken from the variable NAME of this process."),
    cwd: z.string().min(1).optional().describe("Folder that the command runs in."),
    url: z
      .url({ protocol: /^https?$/ })
      .optional()
      .describe("Address of a server over HTTP, instead of a command."),
    headers: variables.optional().describe("Headers of its requests; a value $NAME as in env."),
    tools: z.array(z.string().min(1)).min(1).optional().describe("The tools to take; all of the server by default."),
  })
  .superRefine((server, context) => {
    const issue = (message: string, key?: string): void =>
      context.addIssue({ code: "custom", message, ...(key === undefined ? {} : { path: [key] }) });
    if ((server.command === undefined) === (server.url === undefined)) issue("give either command or url");
    const strangers = server.command === undefined ? (["args", "env", "cwd"] as const) : (["headers"] as const);
    for (const key of strangers) {
      if (server[key] !== undefined) issue(`belongs to ${key === "headers" ? "url" : "command"}`, key);
    }
  });

/** The server that the options name, its variables read. Throws `config.invalid` for a variable that is not set. */
export function namedServer({ command, args, env, cwd, url, headers }: McpServerOptions): McpServer {
  if (url !== undefined) return { url, ...(headers === undefined ? {} : { headers: filledIn(headers) }) };
  return {
    command: command!,
    ...(args === undefined ? {} : { args }),
    ...(env === undefined ? {} : { env: filledIn(env) }),
    ...(cwd === undefined ? {} : { cwd }),
  };
}

function filledIn(values: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => {
      const name = /^\$(\w+)$/.exec(value)?.[1];
      if (name === undefined) return [key, value];
      const found = process.env[name];
      if (found !== undefined && found !== "") return [key, found];
      throw new LyceumError({
        code: "config.invalid",
        message: `"${key}" of an MCP server is to be the variable ${name}, which is not set.`,
        hint: `Set the environment variable ${name}.`,
      });
    }),
  );
}
