import { z } from "zod";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { defineEnvironment } from "../../src/core/environment/define-environment.ts";
import type { EnvironmentResources } from "../../src/core/environment/environment-resources.ts";
import { defineEnvironmentEntry, parseEnvironmentOptions } from "../../src/core/environment/registry.ts";
import { mapTaskset } from "../../src/core/taskset/map-taskset.ts";
import type { AnswerChecker } from "../math/answer-checker.ts";
import type { ComparisonPoolOptions } from "../math/equivalence/comparison-pool.ts";
import { mathEpisode, mathEpisodeOptions } from "../math/math-episode.ts";
import { sharedChecker } from "../math/shared-checker.ts";
import { anySplitOfOneFile, loadRowsOrDataset, rowOptions, rowSplits } from "../shared/rows/row-file.ts";
import { chosenRows } from "./chosen-rows.ts";
import { type MathProblemTask, mathProblemRowSchema, mathProblemTask } from "./math-problem-row.ts";

/** The options of the environment of math problems. The schema describes each one. */
export type MathProblemsOptions = Readonly<z.output<typeof schema>>;

/** The resources of the environment. All have defaults. */
export interface MathProblemsResources extends EnvironmentResources<never> {
  /** The options of the threads that compare answers, such as their timeout. */
  readonly checker?: ComparisonPoolOptions;
}

const level = z.int().min(0).max(100);
const schema = z.strictObject({
  path: rowOptions.path,
  dataset: z
    .string()
    .default("DigitalLearningGmbH/MATH-lighteval")
    .describe("The hub data set, used if no path is given."),
  revision: rowOptions.revision,
  level: z
    .union([
      level,
      z
        .tuple([level, level])
        .refine(([lowest, highest]) => lowest <= highest, "a range must begin with its smaller number"),
    ])
    .optional()
    .describe("Selects problems of this level, or of a range such as [1, 3]."),
  types: z.array(z.string().min(1)).min(1).optional().describe("Selects problems of these types, such as [Algebra]."),
  ...mathEpisodeOptions,
});

const description = "Math problems from data such as MATH, with answers of every kind: expressions, sets, intervals.";

/**
 * Creates the environment of math problems with answers, such as MATH, from files or the hub. One agent solves a
 * problem. The reward is 1 for an answer that is equivalent to the reference and is not just copied from the question.
 */
export function mathProblemsEnvironment(
  options: Partial<MathProblemsOptions> = {},
  resources: MathProblemsResources = {},
): EnvironmentDefinition<MathProblemTask> {
  const { path, dataset, revision, level, types, ...rest } = parseEnvironmentOptions("math-problems", schema, options);
  const { definition, outcome } = mathEpisode({ answerOnly: false, ...rest });
  const environment = defineEnvironment<MathProblemTask, undefined, AnswerChecker>({
    id: "math-problems",
    description,
    splits: rowSplits(path),
    tasks: async (split, { signal }) => {
      const data = { path, dataset, revision, split, schema: mathProblemRowSchema };
      const rows = await loadRowsOrDataset({ ...data, hub: resources.hub, signal });
      const chosen = await chosenRows(rows, { level, types }, { signal });
      return mapTaskset(chosen, mathProblemTask, `math-problems/${split}`);
    },
    groupOf: ({ difficulty }) => (difficulty === 0 ? undefined : String(difficulty)),
    ...definition,
    open: sharedChecker(resources.checker),
    step: async ({ task, text, turn, opened, signal }) => {
      const { question, answers } = task;
      const verdict = await opened.check({ text, gold: answers, question, signal });
      return outcome({ text, turn, verdict });
    },
  });
  return anySplitOfOneFile(environment, path);
}

/** The registry entry of the environment of math problems. */
export const mathProblemsEntry = defineEnvironmentEntry({
  id: "math-problems",
  description,
  options: schema,
  create: (options) => mathProblemsEnvironment(options),
});
