import { z } from "zod";
import { type PolicySpecification, policySpecificationSchema } from "../../../src/core/policy/policy-specification.ts";

/** What agents are told after a turn. */
const feedbackModes = ["level_feedback", "level_passed", "passed", "plain", "expert_edits"] as const;
/** Where Python runs. */
export const pythonSandboxes = ["auto", "docker", "bubblewrap", "pyodide"] as const;

/** Options that every environment of code over several turns has; the schema says what each means. */
export interface CodeTurnOptions {
  readonly maxTurns: number;
  readonly mode: (typeof feedbackModes)[number];
  readonly expert?: PolicySpecification | undefined;
  readonly sandboxSlice: number | "all" | null;
  readonly shareTests: boolean;
  readonly originalPrompt: boolean;
  readonly previousResponse: boolean;
  readonly history: "conversation" | "latest";
  readonly cpuSeconds: number;
  readonly sandbox: (typeof pythonSandboxes)[number] | "isolated-vm";
}

/** The schema of {@link CodeTurnOptions}, key by key, to be spread into that of an environment: for Python. */
export const codeTurnShape: { readonly [Key in keyof CodeTurnOptions]-?: z.ZodType<CodeTurnOptions[Key]> } = {
  maxTurns: z.int().min(1).max(20).default(1).describe("Turns until the episode ends; one that passes ends it."),
  mode: z.enum(feedbackModes).default("level_feedback").describe("What an agent is told after a turn."),
  expert: policySpecificationSchema
    .optional()
    .describe("Who edits in the mode expert_edits: a policy, such as openai:gpt-5-mini; see policies.md."),
  sandboxSlice: z
    .union([z.int(), z.literal("all"), z.null()])
    .default(1)
    .describe("Visible tests that feedback uses: the first n, the last -n; 0, null and all stand for every one."),
  shareTests: z
    .boolean()
    .default(false)
    .describe("Every test is visible and counts: feedback shows what the reward is made of."),
  originalPrompt: z.boolean().default(false).describe("Repeat the problem before the feedback."),
  previousResponse: z.boolean().default(true).describe("Show an agent its own code before the feedback."),
  history: z
    .enum(["conversation", "latest"])
    .default("conversation")
    .describe("What an agent sees: the whole conversation, or its latest prompt alone."),
  cpuSeconds: z
    .number()
    .min(0.1)
    .max(300)
    .default(10)
    .describe("Processor time for all tests of a problem; code that needs more fails those that are left."),
  sandbox: z.enum(pythonSandboxes).default("auto").describe("Where code runs; auto takes the strongest that works."),
};
