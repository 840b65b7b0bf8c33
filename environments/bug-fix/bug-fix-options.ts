import { z } from "zod";
import { codeTurnShape } from "../shared/code-turns/turn-options.ts";
import { optionalText } from "../shared/rows/row-file.ts";

/** The options of the bug-fix environment. The schema describes each one. */
export type BugFixOptions = Readonly<z.output<typeof bugFixOptionsSchema>>;

/** The schema of the bug-fix environment's options, for the registry. */
export const bugFixOptionsSchema = z.strictObject({
  dataset: z.enum(["humaneval", "mbpp"]).default("humaneval").describe("The benchmark whose solutions get bugs."),
  path: optionalText("The benchmark's file, or a file in the same form with real bugs. Defaults to the hub data set."),
  mutations: z.int().min(1).max(3).default(1).describe("The number of mutations in a bug."),
  finder: z.boolean().default(false).describe("Adds a second agent that first names the faulty line."),
  ...codeTurnShape,
});
