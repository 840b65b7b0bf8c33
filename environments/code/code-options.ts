import { z } from "zod";
import { parseEnvironmentOptions } from "../../src/environment/registry.ts";

/** The benchmarks that come with a reader. */
const codeDatasets = ["humaneval", "coop-humaneval", "mbpp", "humaneval-js", "humaneval-ts"] as const;
/** What the agent is told after a turn. */
const feedbackModes = ["level_feedback", "level_passed", "passed", "plain"] as const;

/** What the code environment is made from; the schema says what each option means. */
export interface CodeOptions {
  readonly dataset: (typeof codeDatasets)[number];
  readonly path?: string | undefined;
  readonly maxTurns: number;
  readonly mode: (typeof feedbackModes)[number];
  readonly sandboxSlice: number | "all" | null;
  readonly originalPrompt: boolean;
  readonly previousResponse: boolean;
  readonly reward: "correctness" | "mrlm";
  readonly cpuSeconds: number;
  readonly sandbox: "auto" | "docker" | "bubblewrap" | "pyodide" | "isolated-vm";
}

const schema = z.strictObject({
  dataset: z.enum(codeDatasets).default("humaneval").describe("The benchmark."),
  path: z
    .string()
    .min(1)
    .optional()
    .describe("The benchmark's file, or one of the same form (.jsonl, .jsonl.gz, .json); by default, the hub's."),
  maxTurns: z.int().min(1).max(20).default(1).describe("Replies until the episode ends; one that passes ends it."),
  mode: z.enum(feedbackModes).default("level_feedback").describe("What the agent is told after a turn."),
  sandboxSlice: z
    .union([z.int(), z.literal("all"), z.null()])
    .default(1)
    .describe("Visible tests that feedback uses: the first n, the last -n; 0, null and all stand for every one."),
  originalPrompt: z.boolean().default(false).describe("Repeat the problem before the feedback."),
  previousResponse: z.boolean().default(true).describe("Show the agent its code before the feedback."),
  reward: z
    .enum(["correctness", "mrlm"])
    .default("correctness")
    .describe("correctness: 0.05 for syntax, 0.05 for the definition, 0.9 for tests. mrlm: MRLM's, from -0.5 to 2."),
  cpuSeconds: z
    .number()
    .min(0.1)
    .max(300)
    .default(10)
    .describe("Processor time for all tests of a problem; code that needs more fails those that are left."),
  sandbox: z
    .enum(["auto", "docker", "bubblewrap", "pyodide", "isolated-vm"])
    .default("auto")
    .describe("Where code runs; auto takes the strongest that works."),
});

/** The options of the code environment, for the registry. */
export const codeOptionsSchema: z.ZodObject = schema;

/** The options with their defaults. Throws `config.invalid` naming each option at fault. */
export function parseCodeOptions(options: Partial<CodeOptions>): CodeOptions {
  return parseEnvironmentOptions("code", schema, options);
}
