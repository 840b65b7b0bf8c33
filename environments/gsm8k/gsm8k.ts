import { resolve } from "node:path";
import { z } from "zod";
import { defineEnvironment } from "../../src/environment/define-environment.ts";
import type { EnvironmentDefinition } from "../../src/environment/environment.ts";
import { type EnvironmentEntry, parseEnvironmentOptions } from "../../src/environment/registry.ts";
import type { HubOptions } from "../../src/hub/hub.ts";
import { loadTaskset } from "../../src/taskset/load-taskset.ts";
import { mapTaskset } from "../../src/taskset/map-taskset.ts";
import { mathEpisode } from "../math/math-episode.ts";
import type { MathTask } from "../math/math-problem.ts";
import { gsm8kTask } from "./gsm8k-answer.ts";

/** What the GSM8K environment is made from; the schema says what each option means. */
export interface Gsm8kOptions {
  readonly path?: string | undefined;
  readonly dataset: string;
  readonly revision?: string | undefined;
  readonly calculatorAnnotations: boolean;
  readonly maxTurns: number;
  readonly formatReward: number;
}

const schema = z.strictObject({
  path: z
    .string()
    .min(1)
    .optional()
    .describe("A folder with the splits as files, one file (then the only split is train), or a path with {split}."),
  dataset: z.string().default("openai/gsm8k").describe("The hub data set, where no path is given."),
  revision: z.string().optional().describe("Branch, tag or commit of the data set; a commit makes runs repeatable."),
  calculatorAnnotations: z.boolean().default(false).describe("Keep <<48/2=24>> in the solutions of demonstrations."),
  maxTurns: z.int().min(1).max(20).default(1).describe("Replies until the episode ends; wrong ones get feedback."),
  formatReward: z
    .number()
    .min(0)
    .max(1)
    .default(0)
    .describe("Added to the reward when the answer stands where the prompt asks for it."),
});

const description = "Grade-school word problems of GSM8K (Cobbe et al. 2021, https://arxiv.org/abs/2110.14168).";
const rowSchema = z.object({ question: z.string().min(1), answer: z.string().min(1) });

/**
 * The GSM8K environment: one agent solves a grade-school word problem and earns 1 for the right answer. Questions come
 * from the hub, or from files by `path`. `hub` says how the hub is reached, for tests and mirrors.
 */
export function gsm8kEnvironment(
  options: Partial<Gsm8kOptions> = {},
  hub: HubOptions = {},
): EnvironmentDefinition<MathTask> {
  const parsed = parseEnvironmentOptions("gsm8k", schema, options);
  const { path, dataset, revision, calculatorAnnotations, maxTurns, formatReward } = parsed;
  const episode = mathEpisode({ answerOnly: false, maxTurns, formatReward });
  const isOneFile = path !== undefined && /\.(?:jsonl|jsonl\.gz|parquet)$/i.test(path) && !path.includes("{split}");
  return defineEnvironment<MathTask>({
    id: "gsm8k",
    description,
    splits: isOneFile ? ["train"] : ["train", "test"],
    tasks: async (split, { signal }) => {
      const source = path === undefined ? { source: dataset, config: "main" } : { source: resolve(path) };
      const rows = await loadTaskset(
        { ...source, split, schema: rowSchema, ...(revision === undefined ? {} : { revision }) },
        { ...hub, ...(signal === undefined ? {} : { signal }) },
      );
      return mapTaskset(rows, (row) => gsm8kTask(row, { calculatorAnnotations }), `gsm8k/${split}`);
    },
    maxTurns,
    rewardRange: episode.rewardRange,
    reset: ({ task }) => episode.prompt(task),
    step: episode.judge,
    demonstrate: ({ solution }) => solution,
  });
}

/** The registry's entry of the GSM8K environment. */
export const gsm8kEntry: EnvironmentEntry = {
  id: "gsm8k",
  description,
  options: schema,
  create: (options) => gsm8kEnvironment(options),
};
