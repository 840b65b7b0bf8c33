import { z } from "zod";
import { LyceumError } from "../../src/contract/errors/index.ts";
import type { McpServer } from "../../src/core/tools/mcp-tools.ts";

const variables = z.record(z.string().min(1), z.string());

/** An MCP server in a config: a command to start, or an address. */
export type McpServerOptions = Readonly<z.output<typeof mcpServerSchema>>;

/** The schema of {@link McpServerOptions}. Requires either `command` or `url`, and rejects the other one's options. */
export const mcpServerSchema = z
  .strictObject({
    command: z.string().min(1).optional().describe("A program to start. It communicates over its standard streams."),
    args: z.array(z.string()).optional().describe("Arguments of the command."),
    env: variables
      .optional()
      .describe("Environment variables of the command. A value $NAME is read from the variable NAME of this process."),
    cwd: z.string().min(1).optional().describe("The working directory of the command."),
    url: z
      .url({ protocol: /^https?$/ })
      .optional()
      .describe("The address of an HTTP server, instead of a command."),
    headers: variables.optional().describe("Headers of its requests. A value $NAME is read as in env."),
    tools: z
      .array(z.string().min(1))
      .min(1)
      .optional()
      .describe("The tools to offer. Defaults to all tools of the server."),
  })
  .superRefine((server, context) => {
    const issue = (message: string, key?: string): void =>
      context.addIssue({ code: "custom", message, ...(key === undefined ? {} : { path: [key] }) });
    if ((server.command === undefined) === (server.url === undefined)) issue("give either command or url");
    const misplaced = server.command === undefined ? (["args", "env", "cwd"] as const) : (["headers"] as const);
    for (const key of misplaced) {
      if (server[key] !== undefined) issue(`belongs to ${key === "headers" ? "url" : "command"}`, key);
    }
  });

/** Returns the server of the options, with its variables filled in. Throws `config.invalid` for an unset variable. */
export function namedServer({ command, args, env, cwd, url, headers }: McpServerOptions): McpServer {
  if (url !== undefined) return { url, ...(headers === undefined ? {} : { headers: filledIn(headers) }) };
  return { command: command!, args, ...(env === undefined ? {} : { env: filledIn(env) }), cwd };
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
        message: `"${key}" of an MCP server refers to the variable ${name}, which is not set.`,
        hint: `Set the environment variable ${name}.`,
      });
    }),
  );
}
