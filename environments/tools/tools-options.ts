import { z } from "zod";
import type { SandboxChoice } from "../../sandbox/create-sandbox.ts";
import { parseEnvironmentOptions } from "../../src/core/environment/registry.ts";
import { type ToolProtocol, toolProtocols } from "../../src/core/tools/tool-message.ts";
import { type McpServerOptions, mcpServerSchema } from "./mcp-options.ts";

/** The sets of tools that come with the environment. */
const toolSets = ["calculator", "search", "files", "python", "javascript"] as const;

/** One of {@link toolSets}. */
export type ToolSetName = (typeof toolSets)[number];

const searchEngines = ["offline", "searxng", "brave", "tavily"] as const;

/** What `web_search` may ask. */
export type SearchEngineName = (typeof searchEngines)[number];

/** What the tools environment is made from; the schema says what each option means. */
export interface ToolsOptions {
  readonly tools: readonly ToolSetName[];
  readonly mcp: readonly McpServerOptions[];
  readonly path?: string | undefined;
  readonly engine: SearchEngineName;
  readonly engineUrl?: string | undefined;
  readonly protocol: ToolProtocol;
  readonly maxTurns: number;
  readonly callSeconds: number;
  readonly cpuSeconds: number;
  readonly outputCharacters: number;
  readonly sandbox: SandboxChoice;
  readonly seed: number;
  readonly limit?: number | undefined;
}

const schema = z.strictObject({
  tools: z
    .array(z.enum(toolSets))
    .default(["calculator", "search", "files"])
    .describe("What a model may call. Generated tasks need these alone; python and javascript open a sandbox."),
  mcp: z
    .array(mcpServerSchema)
    .default([])
    .describe("Servers of the Model Context Protocol whose tools the model may call, beside the option tools."),
  path: z.string().min(1).optional().describe("Own tasks: JSONL of {question, answer, tools?}, instead of generated."),
  engine: z
    .enum(searchEngines)
    .default("offline")
    .describe("What web_search asks: the index that comes with the environment, or a service of the web."),
  engineUrl: z.url().optional().describe("Address of the service; searxng needs one."),
  protocol: z
    .enum(toolProtocols)
    .default("tagged")
    .describe("How calls are asked for: by tags in the text, or by the means of the model's template."),
  maxTurns: z.int().min(1).max(50).default(6).describe("Messages until the episode ends; each counts, calls or not."),
  callSeconds: z.number().min(0.01).max(600).default(30).describe("Time of one call; one that takes longer fails."),
  cpuSeconds: z.number().min(0.1).max(300).default(10).describe("Processor time of one call of an interpreter."),
  outputCharacters: z.int().min(100).max(1_000_000).default(4_000).describe("What is longer of a result is left out."),
  sandbox: z
    .enum(["auto", "docker", "bubblewrap", "pyodide", "isolated-vm"])
    .default("auto")
    .describe("Where code of the languages that it knows runs; auto, and for others, the strongest that works."),
  seed: z.int().default(0).describe("Another seed gives other tasks. What is held out stays held out."),
  limit: z
    .int()
    .min(1)
    .optional()
    .describe("The most tasks of a split; without it, train has no end and test has 200."),
});

/** The schema of {@link ToolsOptions}: strict; every option has a default or may be absent. */
export const toolsOptionsSchema: z.ZodObject = schema;

/** Checks options and fills in defaults. Throws `config.invalid` naming each option at fault. */
export function parseToolsOptions(options: unknown): ToolsOptions {
  return parseEnvironmentOptions("tools", schema, options);
}
