import { z } from "zod";

/** Which tasks come first, and how fast the others join them. Each key is described in the schema below. */
export interface CurriculumConfig {
  readonly by: string;
  readonly order?: readonly string[] | undefined;
  readonly start: number;
  readonly end: number;
  readonly steps: number;
}

/** A {@link CurriculumConfig} as a person writes it. */
export type CurriculumConfigInput = Pick<CurriculumConfig, "by" | "steps"> & Partial<CurriculumConfig>;

const share = (): z.ZodNumber => z.number().positive().max(1);

/** The `tasks.curriculum` section. */
export const curriculumSchema: z.ZodType<CurriculumConfig> = z.strictObject({
  by: z
    .string()
    .min(1)
    .describe("The field of the tasks that says how difficult they are, such as level, or a path: prompt.length."),
  order: z
    .array(z.string())
    .min(1)
    .optional()
    .describe("The field's values from easy to hard, where sorting is wrong."),
  start: share()
    .default(0.2)
    .describe("The share of the tasks, from the easiest on, that the first batch is drawn from."),
  end: share().default(1).describe("The share at the end; below 1 the hardest tasks are never played."),
  steps: z.int().positive().describe("Batches over which the share grows from start to end."),
});
