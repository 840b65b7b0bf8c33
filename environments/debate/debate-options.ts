import { z } from "zod";
import { judgeOptions } from "../../src/core/judge/with-judge.ts";
import { policySpecificationSchema } from "../../src/core/policy/policy-specification.ts";
import { optionalText } from "../shared/rows/row-file.ts";

/** The options of the debate environment. The schema describes each one. */
export type DebateOptions = Readonly<z.output<typeof debateOptionsSchema>>;

/** The schema of the debate environment's options, for the registry. */
export const debateOptionsSchema = z.strictObject({
  path: optionalText(
    "Your own topics: a folder with one file per split, one file for all splits, or a path that contains {split}.",
  ),
  debaters: z.int().min(2).max(6).default(2).describe("The number of debaters. They alternate between the two sides."),
  rounds: z.int().min(1).max(10).default(2).describe("The number of arguments of each debater."),
  order: z
    .enum(["turns", "simultaneous"])
    .default("turns")
    .describe(
      "turns: debaters speak one after another. simultaneous: all speak at once and read the round's arguments afterwards.",
    ),
  reward: z
    .enum(["own", "team", "zero-sum"])
    .default("own")
    .describe(
      "own: the debater's score. team: the mean of all scores. zero-sum: the own score minus the mean of the others'.",
    ),
  judge: z
    .union([z.enum(["rules", "model"]), policySpecificationSchema])
    .default("rules")
    .describe(
      "The judge: rules, a policy such as openai:gpt-5-mini (see policies.md), or model for a policy that the program passes.",
    ),
  judgeRequests: judgeOptions().judgeRequests,
  judgeSeconds: z
    .number()
    .positive()
    .max(3600)
    .default(60)
    .describe("The timeout of one verdict of a judge model, in seconds."),
  minWords: z.int().min(1).max(1000).default(40).describe("The minimum length of an argument, in words."),
  maxWords: z.int().min(1).max(5000).default(180).describe("The maximum length of an argument, in words."),
});
