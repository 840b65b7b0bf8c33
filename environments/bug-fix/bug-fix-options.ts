import { z } from "zod";
import { parseEnvironmentOptions } from "../../src/core/environment/registry.ts";
import { type CodeTurnOptions, codeTurnShape } from "../shared/code-turns/turn-options.ts";

/** What the bug-fix environment is made from; the schema says what each option means. */
export interface BugFixOptions extends CodeTurnOptions {
  readonly dataset: "humaneval" | "mbpp";
  readonly path?: string | undefined;
  readonly mutations: number;
  readonly finder: boolean;
}

const schema = z.strictObject({
  dataset: z.enum(["humaneval", "mbpp"]).default("humaneval").describe("Whose solutions are given bugs."),
  path: z
    .string()
    .min(1)
    .optional()
    .describe("The benchmark's file, or one of the same form with real bugs; by default, the hub's."),
  mutations: z.int().min(1).max(3).default(1).describe("Mistakes that make a bug."),
  finder: z.boolean().default(false).describe("A second agent first names the line that is wrong."),
  ...codeTurnShape,
});

/** The options of the bug-fix environment, for the registry. */
export const bugFixOptionsSchema: z.ZodObject = schema;

/** The options with their defaults. Throws `config.invalid` naming each option at fault. */
export function parseBugFixOptions(options: Partial<BugFixOptions>): BugFixOptions {
  return parseEnvironmentOptions("bug-fix", schema, options);
}
