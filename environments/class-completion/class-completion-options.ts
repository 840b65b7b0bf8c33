import { z } from "zod";
import { rewardEveryTurnShape } from "../shared/code-turns/reward-every-turn.ts";
import { codeTurnShape } from "../shared/code-turns/turn-options.ts";
import { optionalText } from "../shared/rows/row-file.ts";

/** The options of the class-completion environment. The schema describes each one. */
export type ClassCompletionOptions = Readonly<z.output<typeof classCompletionOptionsSchema>>;

/** The schema of the class-completion environment's options, for the registry. */
export const classCompletionOptionsSchema = z.strictObject({
  path: optionalText(
    "ClassEval's file, or a file in the same form (.jsonl, .jsonl.gz, .json). Defaults to the hub data set.",
  ),
  agents: z.int().min(1).max(8).default(1).describe("The number of agents that share a class's methods."),
  split: z
    .enum(["round-robin", "shuffled", "parameters"])
    .default("round-robin")
    .describe(
      "How methods are split: in turn, in turn in a shuffled order per problem, or by their number of parameters.",
    ),
  reward: z
    .enum(["correctness", "comlrl"])
    .default("correctness")
    .describe("correctness: 0.05 for syntax, 0.05 for methods, 0.9 for tests. comlrl: CoMLRL's, from -1 to 6."),
  ...codeTurnShape,
  ...rewardEveryTurnShape,
});
