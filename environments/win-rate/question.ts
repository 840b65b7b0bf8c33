import { z } from "zod";

/** A question with one or more turns, from a row of MT-Bench or in its form on the hub. */
export interface ChatQuestion {
  readonly id: string;
  readonly category: string;
  /** The user's messages, one per turn. */
  readonly turns: readonly string[];
  /** Reference answers for the judge, one per turn. May be empty. */
  readonly references: readonly string[];
}

const turns = z.array(z.string().min(1)).min(1).max(10);

/** The schema of a row, with the field names of MT-Bench or of its data set on the hub. */
export const questionRowSchema = z
  .object({
    question_id: z.union([z.string(), z.number()]).optional(),
    prompt_id: z.union([z.string(), z.number()]).optional(),
    category: z.string().optional(),
    turns: turns.optional(),
    prompt: turns.optional(),
    reference: z.array(z.string()).nullish(),
  })
  .refine((row) => row.turns !== undefined || row.prompt !== undefined, "turns is missing");

/** A row of a file of questions. */
export type QuestionRow = z.output<typeof questionRowSchema>;

/** Returns the question of a row. */
export function chatQuestion(row: QuestionRow, index: number): ChatQuestion {
  const { question_id, prompt_id, category = "all" } = row;
  return {
    id: String(question_id ?? prompt_id ?? index),
    category,
    turns: row.turns ?? row.prompt!,
    references: row.reference ?? [],
  };
}
