import { z } from "zod";
import { parseEnvironmentOptions } from "../../src/core/environment/registry.ts";
import { type ArithmeticOperation, arithmeticOperations } from "./arithmetic.ts";
import { mathEpisodeOptions } from "./math-episode.ts";
import { difficulties } from "./math-problem.ts";

/** The sorts of generated problems; `mixed` draws from all four. */
export type MathTasks = "arithmetic" | "equations" | "word-problems" | "multi-step" | "mixed";

/** A whole number, or the least and the greatest of a range. */
export type WholeNumbers = number | readonly [minimum: number, maximum: number];

/** What the math environment is made from; the schema says what each option means. */
export interface MathOptions {
  readonly tasks: MathTasks;
  readonly difficulty: WholeNumbers;
  readonly operations: readonly ArithmeticOperation[];
  readonly digits?: WholeNumbers | undefined;
  readonly answerOnly: boolean;
  readonly maxTurns: number;
  readonly formatReward: number;
  readonly seed: number;
  readonly limit?: number | undefined;
}

const { easiest, hardest } = difficulties;

const schema = z.strictObject({
  tasks: z
    .enum(["arithmetic", "equations", "word-problems", "multi-step", "mixed"])
    .default("mixed")
    .describe("The sort of problems; mixed draws from all four."),
  difficulty: wholeNumbers(easiest, hardest)
    .default([easiest, 3])
    .describe("From 1 to 5, or a range such as [1, 3]: more digits, steps, and less friendly numbers."),
  operations: z
    .array(z.enum(arithmeticOperations))
    .min(1)
    .default([...arithmeticOperations])
    .describe("What arithmetic asks for."),
  digits: wholeNumbers(1, 12)
    .optional()
    .describe("Digits of an arithmetic operand, or a range; by default from 1 to the difficulty."),
  answerOnly: z
    .boolean()
    .default(false)
    .describe("Short questions answered by the answer alone (12+34= by 46), for tiny models."),
  ...mathEpisodeOptions,
  seed: z.int().default(0).describe("Another seed gives other problems. What is held out stays held out."),
  limit: z
    .int()
    .min(1)
    .optional()
    .describe("The most tasks of a split; without it, train has no end and test has 500."),
});

/** The schema of {@link MathOptions}: strict; every option has a default or may be absent. */
export const mathOptionsSchema: z.ZodObject = schema;

/** Checks options and fills in defaults. Throws `config.invalid` naming each option at fault. */
export function parseMathOptions(options: unknown): MathOptions {
  return parseEnvironmentOptions("math", schema, options);
}

function wholeNumbers(minimum: number, maximum: number): z.ZodType<number | [number, number]> {
  const number = z.int().min(minimum).max(maximum);
  const range = z
    .tuple([number, number])
    .refine(([least, greatest]) => least <= greatest, "a range begins with its smaller number");
  return z.union([number, range]);
}

/** The range that a whole number or a range stands for. */
export function rangeOf(numbers: WholeNumbers): readonly [minimum: number, maximum: number] {
  return typeof numbers === "number" ? [numbers, numbers] : numbers;
}
