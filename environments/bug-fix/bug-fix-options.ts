import { z } from "zod";
import { parseEnvironmentOptions } from "../../src/core/environment/registry.ts";
import { codeTurnShape } from "../shared/code-turns/turn-options.ts";

/** The options of the bug-fix environment. The schema describes each one. */
export type BugFixOptions = Readonly<z.output<typeof bugFixOptionsSchema>>;

/** The schema of the bug-fix environment's options, for the registry. */
export const bugFixOptionsSchema = z.strictObject({
  dataset: z.enum(["humaneval", "mbpp"]).default("humaneval").describe("The benchmark whose solutions get bugs."),
  path: z
    .string()
    .min(1)
    .optional()
    .describe("The benchmark's file, or a file in the same form with real bugs. Defaults to the hub data set."),
  mutations: z.int().min(1).max(3).default(1).describe("The number of mutations in a bug."),
  finder: z.boolean().default(false).describe("Adds a second agent that first names the faulty line."),
  ...codeTurnShape,
});

/** Validates options and fills in defaults. Throws `config.invalid`, which names each invalid option. */
export function parseBugFixOptions(options: Partial<BugFixOptions>): BugFixOptions {
  return parseEnvironmentOptions("bug-fix", bugFixOptionsSchema, options);
}
