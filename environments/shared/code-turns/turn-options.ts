import { z } from "zod";
import { policySpecificationSchema } from "../../../src/core/policy/policy-specification.ts";

/** The kinds of feedback. */
const feedbackModes = ["level_feedback", "level_passed", "passed", "plain", "expert_edits"] as const;
/** The sandboxes that run Python. */
export const pythonSandboxes = ["auto", "docker", "bubblewrap", "pyodide"] as const;

/** The common options of all code environments with several turns. The schema describes each one. */
export type CodeTurnOptions = Readonly<z.output<z.ZodObject<typeof codeTurnShape>>>;

/** The schema of {@link CodeTurnOptions}, key by key, to spread into an environment's schema. For Python. */
export const codeTurnShape = {
  maxTurns: z
    .int()
    .min(1)
    .max(20)
    .default(1)
    .describe("The maximum number of turns. A turn that passes all tests ends the episode."),
  mode: z.enum(feedbackModes).default("level_feedback").describe("The kind of feedback after a turn."),
  expert: policySpecificationSchema
    .optional()
    .describe("The expert of the mode expert_edits: a policy, such as openai:gpt-5-mini. See policies.md."),
  sandboxSlice: z
    .union([z.int(), z.literal("all"), z.null()])
    .default(1)
    .describe(
      "The visible tests in feedback: n for the first n, -n for the last n. 0, null and all select every visible test.",
    ),
  shareTests: z
    .boolean()
    .default(false)
    .describe("Makes every test visible and lets it count, so feedback shows the tests that determine the reward."),
  originalPrompt: z.boolean().default(false).describe("Repeats the problem before the feedback."),
  previousResponse: z.boolean().default(true).describe("Shows an agent its own code before the feedback."),
  history: z
    .enum(["conversation", "latest"])
    .default("conversation")
    .describe("The history that an agent sees: the whole conversation, or only the latest prompt."),
  cpuSeconds: z
    .number()
    .min(0.1)
    .max(300)
    .default(10)
    .describe("The CPU time for all tests of a problem, in seconds. The remaining tests fail when it is used up."),
  sandbox: z
    .enum(pythonSandboxes)
    .default("auto")
    .describe("The sandbox that runs code. auto uses the strongest one that works."),
};
