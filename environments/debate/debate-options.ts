import { z } from "zod";
import { parseEnvironmentOptions } from "../../src/core/environment/registry.ts";
import { type PolicySpecification, policySpecificationSchema } from "../../src/core/policy/policy-specification.ts";

/** What the debate environment is made from; the schema says what each option means. */
export interface DebateOptions {
  readonly path?: string | undefined;
  readonly debaters: number;
  readonly rounds: number;
  readonly order: "turns" | "simultaneous";
  readonly reward: "own" | "team" | "zero-sum";
  /** `model`: the policy that a program gives. */
  readonly judge: "rules" | "model" | PolicySpecification;
  readonly judgeSeconds: number;
  readonly minWords: number;
  readonly maxWords: number;
}

const schema = z.strictObject({
  path: z
    .string()
    .min(1)
    .optional()
    .describe("Own topics: a folder with the splits as files, one file (which is any split), or {split}."),
  debaters: z.int().min(2).max(6).default(2).describe("How many debate; the sides alternate between them."),
  rounds: z.int().min(1).max(10).default(2).describe("Arguments of each debater."),
  order: z
    .enum(["turns", "simultaneous"])
    .default("turns")
    .describe("One after another, or all at once: then each reads a round's arguments in the next."),
  reward: z
    .enum(["own", "team", "zero-sum"])
    .default("own")
    .describe("The own score, the mean of all scores, or the own score less the mean of the others'."),
  judge: z
    .union([z.enum(["rules", "model"]), policySpecificationSchema])
    .default("rules")
    .describe(
      "Who scores: rules, or a policy, such as openai:gpt-5-mini; see policies.md. model: one that a program gives.",
    ),
  judgeSeconds: z.number().positive().max(3600).default(60).describe("The longest wait for one answer of a model."),
  minWords: z.int().min(1).max(1000).default(40).describe("Words that make an argument long enough."),
  maxWords: z.int().min(1).max(5000).default(180).describe("Words above which an argument is too long."),
});

/** The options of the debate environment, for the registry. */
export const debateOptionsSchema: z.ZodObject = schema;

/** The options with their defaults. Throws `config.invalid` naming each option at fault. */
export function parseDebateOptions(options: Partial<DebateOptions>): DebateOptions {
  return parseEnvironmentOptions("debate", schema, options);
}
