import { z } from "zod";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { answerLine } from "../math/math-problem.ts";
import { statedAnswer } from "../math/stated-answer.ts";

/** A row of MATH (`problem`, `solution` with a boxed answer, `level`, `type`), or a question with its answer. */
export type MathProblemRow = Readonly<z.output<typeof mathProblemRowSchema>>;

/** Returns the number in `level`, such as 3 for `Level 3`, or 0 if there is none. */
export function levelOf({ level }: Pick<MathProblemRow, "level">): number {
  return Number(/\d+/.exec(String(level ?? ""))?.[0] ?? 0);
}

/** The schema of a row. */
export const mathProblemRowSchema = z
  .object({
    problem: z.string().min(1).optional(),
    question: z.string().min(1).optional(),
    solution: z.string().optional(),
    answer: z.union([z.string(), z.number(), z.array(z.string()).min(1)]).optional(),
    level: z.union([z.string(), z.number()]).optional(),
    type: z.string().optional(),
  })
  .refine((row) => row.problem !== undefined || row.question !== undefined, "a problem or a question is missing")
  .refine((row) => row.answer !== undefined || row.solution !== undefined, "a solution or an answer is missing");

/** A problem with its correct answer in all given forms. */
export interface MathProblemTask {
  readonly question: string;
  readonly answers: readonly string[];
  readonly kind: string;
  /** The number in `level`, such as 3 for `Level 3`; 0 if there is none. */
  readonly difficulty: number;
  /** A worked solution that ends in the answer. Models see it only in demonstrations. */
  readonly solution: string;
}

/**
 * Returns the task of a row. The answer is `answer`, or the last marked answer of `solution` (in `\boxed{}` or after
 * `####`). Throws `data.malformed` for a row without an answer.
 */
export function mathProblemTask(row: MathProblemRow): MathProblemTask {
  const { answer, solution, type } = row;
  const given = typeof answer === "object" ? answer : [String(answer ?? marked(solution ?? "") ?? "")];
  const answers = given.map((text) => (marked(text) ?? text).trim()).filter((text) => text !== "");
  if (answers.length === 0) {
    throw new LyceumError({
      code: "data.malformed",
      message: `A problem states no answer: ${JSON.stringify((row.problem ?? row.question)!.slice(0, 60))}.`,
      hint: 'Each row needs an "answer", or a "solution" with its answer in \\boxed{}.',
    });
  }
  const worked = solution ?? (typeof answer === "string" && answer.includes("\n") ? answer : "");
  return {
    question: (row.problem ?? row.question)!.trim(),
    answers,
    kind: type ?? "problem",
    difficulty: levelOf(row),
    solution: `${worked.trim()}\n${answerLine(answers[0]!)}`.trim(),
  };
}

function marked(text: string): string | undefined {
  const stated = statedAnswer(text);
  return stated.mark === "boxed" || stated.mark === "hashes" ? stated.text : undefined;
}
