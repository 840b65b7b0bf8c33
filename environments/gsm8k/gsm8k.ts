import { z } from "zod";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { defineEnvironment } from "../../src/core/environment/define-environment.ts";
import type { EnvironmentResources } from "../../src/core/environment/environment-resources.ts";
import { defineEnvironmentEntry, parseEnvironmentOptions } from "../../src/core/environment/registry.ts";
import { mapTaskset } from "../../src/core/taskset/map-taskset.ts";
import type { AnswerChecker } from "../math/answer-checker.ts";
import { mathEpisode, mathEpisodeOptions } from "../math/math-episode.ts";
import type { MathTask } from "../math/math-problem.ts";
import { anySplitOfOneFile, loadRowsOrDataset, rowOptions, rowSplits } from "../shared/rows/row-file.ts";
import { gsm8kTask } from "./gsm8k-answer.ts";

/** The options of the GSM8K environment. The schema describes each one. */
export type Gsm8kOptions = Readonly<z.output<typeof schema>>;

const schema = z.strictObject({
  path: rowOptions.path,
  dataset: z.string().default("openai/gsm8k").describe("The hub data set, used if no path is given."),
  revision: rowOptions.revision,
  calculatorAnnotations: z
    .boolean()
    .default(false)
    .describe("Keeps annotations such as <<48/2=24>> in the demonstrations' solutions."),
  ...mathEpisodeOptions,
});

const description = "Grade-school word problems of GSM8K (Cobbe et al. 2021, https://arxiv.org/abs/2110.14168).";
const rowSchema = z.object({ question: z.string().min(1), answer: z.string().min(1) });

/**
 * Creates the GSM8K environment. One agent solves a grade-school word problem and gets the reward 1 for the correct
 * answer. The questions come from the hub, or from files at `path`. `hub` configures the access to the hub, for tests
 * and mirrors.
 */
export function gsm8kEnvironment(
  options: Partial<Gsm8kOptions> = {},
  { hub }: EnvironmentResources<never> = {},
): EnvironmentDefinition<MathTask> {
  const parsed = parseEnvironmentOptions("gsm8k", schema, options);
  const { path, dataset, revision, calculatorAnnotations, maxTurns, formatReward } = parsed;
  const { definition } = mathEpisode({ answerOnly: false, maxTurns, formatReward });
  const environment = defineEnvironment<MathTask, undefined, AnswerChecker>({
    id: "gsm8k",
    description,
    splits: rowSplits(path),
    tasks: async (split, { signal }) => {
      const data = { path, dataset, config: "main", revision, split, schema: rowSchema };
      const rows = await loadRowsOrDataset({ ...data, hub, signal });
      return mapTaskset(rows, (row) => gsm8kTask(row, { calculatorAnnotations }), `gsm8k/${split}`);
    },
    ...definition,
  });
  return anySplitOfOneFile(environment, path);
}

/** The registry entry of the GSM8K environment. */
export const gsm8kEntry = defineEnvironmentEntry({
  id: "gsm8k",
  description,
  options: schema,
  create: (options) => gsm8kEnvironment(options),
});
