import { z } from "zod";
import { parseEnvironmentOptions } from "../../src/core/environment/registry.ts";
import { type PayEveryTurn, payEveryTurnShape } from "../shared/code-turns/pay-every-turn.ts";
import { type CodeTurnOptions, codeTurnShape } from "../shared/code-turns/turn-options.ts";
import type { MethodSplit } from "./method-split.ts";

/** What the class-completion environment is made from; the schema says what each option means. */
export interface ClassCompletionOptions extends CodeTurnOptions, PayEveryTurn {
  readonly path?: string | undefined;
  readonly agents: number;
  readonly split: MethodSplit;
  readonly reward: "correctness" | "comlrl";
}

const schema = z.strictObject({
  path: z
    .string()
    .min(1)
    .optional()
    .describe("ClassEval's file, or one of the same form (.jsonl, .jsonl.gz, .json); by default, the hub's."),
  agents: z.int().min(1).max(8).default(1).describe("Agents between whom a class's methods are split."),
  split: z
    .enum(["round-robin", "shuffled", "parameters"])
    .default("round-robin")
    .describe("How: in turn, in turn in an order of the problem's own, or by how many parameters a method has."),
  reward: z
    .enum(["correctness", "comlrl"])
    .default("correctness")
    .describe("correctness: 0.05 for syntax, 0.05 for methods, 0.9 for tests. comlrl: CoMLRL's, from -1 to 6."),
  ...codeTurnShape,
  ...payEveryTurnShape,
});

/** The options of the class-completion environment, for the registry. */
export const classCompletionOptionsSchema: z.ZodObject = schema;

/** The options with their defaults. Throws `config.invalid` naming each option at fault. */
export function parseClassCompletionOptions(options: Partial<ClassCompletionOptions>): ClassCompletionOptions {
  return parseEnvironmentOptions("class-completion", schema, options);
}
