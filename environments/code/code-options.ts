import { z } from "zod";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { parseEnvironmentOptions } from "../../src/core/environment/registry.ts";
import { rewardEveryTurnShape } from "../shared/code-turns/reward-every-turn.ts";
import { codeTurnShape, pythonSandboxes } from "../shared/code-turns/turn-options.ts";
import { optionalText } from "../shared/rows/row-file.ts";

/** The benchmarks with a reader, and `jsonl` for custom problems. */
const codeDatasets = [
  "humaneval",
  "coop-humaneval",
  "mbpp",
  "mbpp-coop",
  "humaneval-js",
  "humaneval-ts",
  "jsonl",
] as const;

/** The options of the code environment. The schema describes each one. */
export type CodeOptions = Readonly<z.output<typeof codeOptionsSchema>>;

/** The schema of the code environment's options, for the registry. */
export const codeOptionsSchema = z.strictObject({
  dataset: z.enum(codeDatasets).default("humaneval").describe("The benchmark, or jsonl for your own problems."),
  path: optionalText(
    "The benchmark's file, or a file in the same form (.jsonl, .jsonl.gz, .json). Defaults to the hub data set.",
  ),
  language: z
    .enum(["python", "javascript", "typescript"])
    .default("python")
    .describe("The language of your own problems. Benchmarks have a fixed language."),
  agents: z
    .union([z.literal(1), z.literal(2)])
    .default(1)
    .describe("With 2, the agent aux writes a helper while the agent main writes the function."),
  reward: z
    .enum(["correctness", "comlrl", "mrlm"])
    .default("correctness")
    .describe("The reward preset: correctness from 0 to 1, comlrl from 0 to 4, mrlm from -0.5 to 2."),
  ...codeTurnShape,
  ...rewardEveryTurnShape,
  sandbox: z
    .enum([...pythonSandboxes, "isolated-vm"])
    .default("auto")
    .describe("The sandbox that runs code. auto uses the strongest one that works."),
});

/** Validates options and fills in defaults. Throws `config.invalid`, which names each invalid option. */
export function parseCodeOptions(options: Partial<CodeOptions>): CodeOptions {
  const parsed: CodeOptions = parseEnvironmentOptions("code", codeOptionsSchema, options);
  if (parsed.dataset === "jsonl" && parsed.path === undefined) {
    throw new LyceumError({
      code: "config.invalid",
      message: 'The dataset "jsonl" of "code" has no path.',
      hint: "Set path to the file with your problems, one JSON object per line.",
    });
  }
  return parsed;
}
