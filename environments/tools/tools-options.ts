import { z } from "zod";
import { toolProtocols } from "../../src/core/tools/tool-message.ts";
import { optionalText } from "../shared/rows/row-file.ts";
import { mcpServerSchema } from "./mcp-options.ts";

/** The built-in sets of tools. */
const toolSets = ["calculator", "search", "files", "python", "javascript"] as const;

/** One of {@link toolSets}. */
export type ToolSetName = (typeof toolSets)[number];

const searchEngines = ["offline", "searxng", "brave", "tavily"] as const;

/** The search engines of `web_search`. */
export type SearchEngineName = (typeof searchEngines)[number];

/** The options of the tools environment. The schema describes each one. */
export type ToolsOptions = Readonly<z.output<typeof toolsOptionsSchema>>;

/** The schema of {@link ToolsOptions}. It is strict. Every option has a default or is optional. */
export const toolsOptionsSchema = z.strictObject({
  tools: z
    .array(z.enum(toolSets))
    .readonly()
    .default(["calculator", "search", "files"])
    .describe(
      "The tools that a model may call. Generated tasks need only these. python and javascript open a sandbox.",
    ),
  mcp: z
    .array(mcpServerSchema)
    .readonly()
    .default([])
    .describe("MCP servers whose tools the model may call, in addition to the option tools."),
  path: optionalText("Your own tasks instead of generated ones: a JSONL file of {question, answer, tools?}."),
  engine: z
    .enum(searchEngines)
    .default("offline")
    .describe("The search engine of web_search: the built-in index (offline), or a web service."),
  engineUrl: z.url().optional().describe("The address of the web service. Required for searxng."),
  protocol: z
    .enum(toolProtocols)
    .default("tagged")
    .describe(
      "The format of tool calls: tags in the text (tagged), or the format of the model's chat template (native).",
    ),
  maxTurns: z
    .int()
    .min(1)
    .max(50)
    .default(6)
    .describe("The maximum number of messages. Messages with and without calls count."),
  callSeconds: z.number().min(0.01).max(600).default(30).describe("The timeout of one call, in seconds."),
  cpuSeconds: z.number().min(0.1).max(300).default(10).describe("The CPU time of one interpreter call, in seconds."),
  outputCharacters: z
    .int()
    .min(100)
    .max(1_000_000)
    .default(4_000)
    .describe("The maximum length of a result. The rest is cut off."),
  sandbox: z
    .enum(["auto", "docker", "bubblewrap", "pyodide", "isolated-vm"])
    .default("auto")
    .describe(
      "The sandbox that runs code. auto uses the strongest one that works, as do languages that the sandbox does not support.",
    ),
  seed: z.int().default(0).describe("The seed of the generated tasks. It does not change which tasks are held out."),
  limit: z
    .int()
    .min(1)
    .optional()
    .describe("The maximum number of tasks per split. By default, train is unbounded and test has 200 tasks."),
});
