import { z } from "zod";
import { parseEnvironmentOptions } from "../../src/environment/registry.ts";
import { type CodeTurnOptions, codeTurnShape } from "../code-turns/turn-options.ts";

/** The benchmarks that come with a reader. */
const codeDatasets = ["humaneval", "coop-humaneval", "mbpp", "humaneval-js", "humaneval-ts"] as const;

/** What the code environment is made from; the schema says what each option means. */
export interface CodeOptions extends CodeTurnOptions {
  readonly dataset: (typeof codeDatasets)[number];
  readonly path?: string | undefined;
  readonly reward: "correctness" | "mrlm";
}

const schema = z.strictObject({
  dataset: z.enum(codeDatasets).default("humaneval").describe("The benchmark."),
  path: z
    .string()
    .min(1)
    .optional()
    .describe("The benchmark's file, or one of the same form (.jsonl, .jsonl.gz, .json); by default, the hub's."),
  reward: z
    .enum(["correctness", "mrlm"])
    .default("correctness")
    .describe("correctness: 0.05 for syntax, 0.05 for the definition, 0.9 for tests. mrlm: MRLM's, from -0.5 to 2."),
  ...codeTurnShape,
});

/** The options of the code environment, for the registry. */
export const codeOptionsSchema: z.ZodObject = schema;

/** The options with their defaults. Throws `config.invalid` naming each option at fault. */
export function parseCodeOptions(options: Partial<CodeOptions>): CodeOptions {
  return parseEnvironmentOptions("code", schema, options);
}
