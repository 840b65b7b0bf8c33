import { z } from "zod";
import type { Language } from "../../sandbox/execution.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { parseEnvironmentOptions } from "../../src/core/environment/registry.ts";
import { type PayEveryTurn, payEveryTurnShape } from "../shared/code-turns/pay-every-turn.ts";
import { type CodeTurnOptions, codeTurnShape, pythonSandboxes } from "../shared/code-turns/turn-options.ts";

/** The benchmarks that come with a reader, and one's own problems. */
const codeDatasets = [
  "humaneval",
  "coop-humaneval",
  "mbpp",
  "mbpp-coop",
  "humaneval-js",
  "humaneval-ts",
  "jsonl",
] as const;

/** What the code environment is made from; the schema says what each option means. */
export interface CodeOptions extends CodeTurnOptions, PayEveryTurn {
  readonly dataset: (typeof codeDatasets)[number];
  readonly path?: string | undefined;
  readonly language: Language;
  readonly agents: 1 | 2;
  readonly reward: "correctness" | "comlrl" | "mrlm";
}

const schema = z.strictObject({
  dataset: z.enum(codeDatasets).default("humaneval").describe("The benchmark, or jsonl: problems of your own."),
  path: z
    .string()
    .min(1)
    .optional()
    .describe("The benchmark's file, or one of the same form (.jsonl, .jsonl.gz, .json); by default, the hub's."),
  language: z
    .enum(["python", "javascript", "typescript"])
    .default("python")
    .describe("The language of problems of your own; benchmarks have theirs."),
  agents: z
    .union([z.literal(1), z.literal(2)])
    .default(1)
    .describe("2: an agent aux writes a helper for the function that an agent main writes at the same time."),
  reward: z
    .enum(["correctness", "comlrl", "mrlm"])
    .default("correctness")
    .describe("What tests and the rest are worth: correctness from 0 to 1, comlrl to 4, mrlm from -0.5 to 2."),
  ...codeTurnShape,
  ...payEveryTurnShape,
  sandbox: z
    .enum([...pythonSandboxes, "isolated-vm"])
    .default("auto")
    .describe("Where code runs; auto takes the strongest that works."),
});

/** The options of the code environment, for the registry. */
export const codeOptionsSchema: z.ZodObject = schema;

/** The options with their defaults. Throws `config.invalid` naming each option at fault. */
export function parseCodeOptions(options: Partial<CodeOptions>): CodeOptions {
  const parsed: CodeOptions = parseEnvironmentOptions("code", schema, options);
  if (parsed.dataset === "jsonl" && parsed.path === undefined) {
    throw new LyceumError({
      code: "config.invalid",
      message: 'The dataset "jsonl" of "code" has no path.',
      hint: "Set path to the file with your problems, one JSON object a line.",
    });
  }
  return parsed;
}
