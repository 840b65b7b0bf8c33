import { resolve } from "node:path";
import { z } from "zod";
import { defineEnvironment } from "../../src/environment/define-environment.ts";
import type { EnvironmentDefinition } from "../../src/environment/environment.ts";
import { type EnvironmentEntry, parseEnvironmentOptions } from "../../src/environment/registry.ts";
import type { HubOptions } from "../../src/hub/hub.ts";
import { loadTaskset } from "../../src/taskset/load-taskset.ts";
import { mapTaskset } from "../../src/taskset/map-taskset.ts";
import type { AnswerChecker } from "../math/answer-checker.ts";
import { mathEpisode } from "../math/math-episode.ts";
import { type MathProblemTask, mathProblemRowSchema, mathProblemTask } from "./math-problem-row.ts";
import { sharedChecker } from "./shared-checker.ts";

/** What the environment of math problems is made from; the schema says what each option means. */
export interface MathProblemsOptions {
  readonly path?: string | undefined;
  readonly dataset: string;
  readonly revision?: string | undefined;
  readonly maxTurns: number;
  readonly formatReward: number;
}

const schema = z.strictObject({
  path: z
    .string()
    .min(1)
    .optional()
    .describe("A folder with the splits as files, one file (then the only split is train), or a path with {split}."),
  dataset: z
    .string()
    .default("DigitalLearningGmbH/MATH-lighteval")
    .describe("The hub data set, where no path is given."),
  revision: z.string().optional().describe("Branch, tag or commit of the data set; a commit makes runs repeatable."),
  maxTurns: z.int().min(1).max(20).default(1).describe("Replies until the episode ends; wrong ones get feedback."),
  formatReward: z
    .number()
    .min(0)
    .max(1)
    .default(0)
    .describe("Added to the reward when the answer stands where the prompt asks for it."),
});

const description = "Math problems from data such as MATH, with answers of every kind: expressions, sets, intervals.";

/**
 * Problems with their answers from files or the hub, as MATH has them. One agent solves a problem and earns 1 for an
 * answer that says the same as the right one. `hub` says how the hub is reached, for tests and mirrors.
 */
export function mathProblemsEnvironment(
  options: Partial<MathProblemsOptions> = {},
  hub: HubOptions = {},
): EnvironmentDefinition<MathProblemTask> {
  const { path, dataset, revision, ...rest } = parseEnvironmentOptions("math-problems", schema, options);
  const episode = mathEpisode({ answerOnly: false, ...rest });
  const isOneFile = path !== undefined && /\.(?:jsonl|jsonl\.gz|parquet)$/i.test(path) && !path.includes("{split}");
  return defineEnvironment<MathProblemTask, undefined, AnswerChecker>({
    id: "math-problems",
    description,
    splits: isOneFile ? ["train"] : ["train", "test"],
    tasks: async (split, { signal }) => {
      const source = path === undefined ? dataset : resolve(path);
      const rows = await loadTaskset(
        { source, split, schema: mathProblemRowSchema, ...(revision === undefined ? {} : { revision }) },
        { ...hub, ...(signal === undefined ? {} : { signal }) },
      );
      return mapTaskset(rows, mathProblemTask, `math-problems/${split}`);
    },
    maxTurns: rest.maxTurns,
    rewardRange: episode.rewardRange,
    open: sharedChecker(),
    reset: ({ task }) => episode.prompt(task),
    step: async ({ task, text, turn, held, signal }) => {
      const verdict = await held.check({ text, gold: task.answers, ...(signal === undefined ? {} : { signal }) });
      return episode.outcome({ text, turn, verdict });
    },
    demonstrate: ({ solution }) => solution,
  });
}

/** The registry's entry of the environment of math problems. */
export const mathProblemsEntry: EnvironmentEntry = {
  id: "math-problems",
  description,
  options: schema,
  create: (options) => mathProblemsEnvironment(options),
};
