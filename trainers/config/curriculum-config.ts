import { z } from "zod";
import type { Immutable } from "./immutable.ts";

const share = (): z.ZodNumber => z.number().positive().max(1);

/** The schema of the section `tasks.curriculum`. */
export const curriculumSchema = z.strictObject({
  by: z
    .string()
    .min(1)
    .optional()
    .describe(
      "The field of a task that has its difficulty, such as level, or a path such as prompt.length. By default, the " +
        "task's group (groupOf).",
    ),
  order: z
    .array(z.string())
    .min(1)
    .optional()
    .describe("The values from easy to hard. Give it if sorting them gives the wrong order."),
  start: share().default(0.2).describe("The share of the easiest tasks from which the first batch is drawn."),
  end: share().default(1).describe("The share at the end. Below 1, the hardest tasks are never played."),
  steps: z.int().positive().describe("The number of batches over which the share grows from start to end."),
});

/** The settings of a curriculum. The schema above describes each key. */
export type CurriculumConfig = Immutable<z.output<typeof curriculumSchema>>;
