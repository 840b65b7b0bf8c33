import { z } from "zod";
import { arithmeticOperations } from "./arithmetic.ts";
import { mathEpisodeOptions } from "./math-episode.ts";
import { difficulties } from "./math-problem.ts";

/** A whole number, or the minimum and maximum of a range. */
export type WholeNumbers = number | readonly [minimum: number, maximum: number];

/** The options of the math environment. The schema describes each one. */
export type MathOptions = Readonly<z.output<typeof mathOptionsSchema>>;

const { easiest, hardest } = difficulties;

/** The schema of {@link MathOptions}. It is strict. Every option has a default or is optional. */
export const mathOptionsSchema = z.strictObject({
  tasks: z
    .enum(["arithmetic", "equations", "word-problems", "multi-step", "mixed"])
    .default("mixed")
    .describe("The kind of problems. mixed draws from all four."),
  difficulty: wholeNumbers(easiest, hardest)
    .default([easiest, 3])
    .describe(
      "A level from 1 to 5, or a range such as [1, 3]. Higher levels have more digits, more steps and harder numbers.",
    ),
  operations: z
    .array(z.enum(arithmeticOperations))
    .min(1)
    .readonly()
    .default([...arithmeticOperations])
    .describe("The kinds of arithmetic problems."),
  digits: wholeNumbers(1, 12)
    .optional()
    .describe("The number of digits of an arithmetic operand, or a range. Defaults to 1 up to the difficulty."),
  answerOnly: z
    .boolean()
    .default(false)
    .describe("Asks short questions whose reply is the answer alone (12+34= and 46), for tiny models."),
  ...mathEpisodeOptions,
  seed: z
    .int()
    .default(0)
    .describe("The seed of the generated problems. It does not change which problems are held out."),
  limit: z
    .int()
    .min(1)
    .optional()
    .describe("The maximum number of tasks per split. By default, train is unbounded and test has 500 tasks."),
});

function wholeNumbers(minimum: number, maximum: number): z.ZodType<number | [number, number]> {
  const number = z.int().min(minimum).max(maximum);
  const range = z
    .tuple([number, number])
    .refine(([least, greatest]) => least <= greatest, "a range must begin with its smaller number");
  return z.union([number, range]);
}

/** Returns a range. A single number is a range of one number. */
export function rangeOf(numbers: WholeNumbers): readonly [minimum: number, maximum: number] {
  return typeof numbers === "number" ? [numbers, numbers] : numbers;
}
