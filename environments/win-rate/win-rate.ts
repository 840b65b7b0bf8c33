import { resolve } from "node:path";
import { z } from "zod";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { LyceumError, toErrorData } from "../../src/contract/errors/index.ts";
import { scored, unscored } from "../../src/contract/reward.ts";
import { defineParallelEnvironment } from "../../src/core/environment/define-parallel-environment.ts";
import type { EnvironmentResources } from "../../src/core/environment/environment-resources.ts";
import { defineEnvironmentEntry, parseEnvironmentOptions } from "../../src/core/environment/registry.ts";
import { judgeOptions, withJudge } from "../../src/core/judge/with-judge.ts";
import { loadTaskset } from "../../src/core/taskset/load-taskset.ts";
import { mapTaskset } from "../../src/core/taskset/map-taskset.ts";
import { anySplitOfOneFile, optionalText } from "../shared/rows/row-file.ts";
import { judgeBothOrders, type PairVerdict } from "./pair-judge.ts";
import { type ChatQuestion, chatQuestion, questionRowSchema } from "./question.ts";

/** The options of the win-rate environment. The schema describes each one. */
export type WinRateOptions = Readonly<z.output<typeof schema>>;

const schema = z.strictObject({
  ...judgeOptions(),
  path: optionalText("A file of questions, one JSON object per line with turns, category and reference."),
  dataset: z.string().default("HuggingFaceH4/mt_bench_prompts").describe("The hub data set, used if no path is given."),
  judgeSeconds: z
    .number()
    .min(1)
    .max(3600)
    .default(120)
    .describe("The timeout of one verdict of the judge, in seconds."),
});

interface State {
  readonly answers: { readonly model: string[]; readonly reference: string[] };
}

/**
 * Creates the win-rate environment. Two models, as the agents `model` and `reference`, answer the same questions over
 * one or more turns. A judge compares their answers in both orders. The model that is better in both orders gets the
 * reward 1 and the other 0. Otherwise both get 0.5. If the judge fails, the episode is unscored.
 *
 * The judge is `resources.policies.judge`. A program that passes none opens it later, by `withJudge`.
 */
export function winRateEnvironment(
  options: Partial<WinRateOptions>,
  resources: EnvironmentResources<"judge"> = {},
): EnvironmentDefinition<ChatQuestion> {
  const { path, dataset, judgeSeconds, judgeRequests } = parseEnvironmentOptions("win-rate", schema, options);
  const { policies = {}, hub = {} } = resources;
  const environment = defineParallelEnvironment<"model" | "reference", ChatQuestion, State>({
    id: "win-rate",
    description: "Answers of two models to the same questions, compared by a judge in both orders.",
    agents: ["model", "reference"],
    splits: ["train"],
    tasks: async (split, { signal }) => {
      const source = path === undefined ? dataset : resolve(path);
      const signalOption = signal === undefined ? {} : { signal };
      const rows = await loadTaskset({ source, split, schema: questionRowSchema }, { ...hub, ...signalOption });
      return mapTaskset(rows, chatQuestion, `win-rate/${split}`);
    },
    maxTurns: 10,
    judges: [{ name: "judge" }],
    reset: ({ task: { turns } }) => ({
      prompts: { model: turns[0]!, reference: turns[0]! },
      state: { answers: { model: [], reference: [] } },
    }),
    step: async ({ task, state: { answers }, texts, turn, judge, signal }) => {
      answers.model.push(texts.model);
      answers.reference.push(texts.reference);
      const next = task.turns[turn + 1];
      if (next !== undefined) return { replies: { model: next, reference: next } };
      const both = [answers.model, answers.reference] as const;
      try {
        const verdicts = await judgeBothOrders({
          judge,
          question: task,
          answers: both,
          limitMs: 1000 * judgeSeconds,
          signal,
        });
        const won = score(verdicts);
        const rewards = { model: scored(won, { won }), reference: scored(1 - won, { won: 1 - won }) };
        return { rewards, info: { verdicts: [...verdicts] } };
      } catch (error) {
        signal?.throwIfAborted();
        return { reward: unscored("The judge gave no verdict.", toErrorData(error)) };
      }
    },
  });
  const whole = anySplitOfOneFile(environment, path);
  const { judge: policy } = policies;
  return policy === undefined ? whole : withJudge(whole, { policy, maxRequests: judgeRequests });
}

/** The entry of the win-rate environment, for its benchmark. It needs two models, so the registry does not list it. */
export const winRateEntry = defineEnvironmentEntry({
  id: "win-rate",
  description: "Answers to the same questions, compared with another model's by a judge in both orders.",
  options: schema,
  policies: (options) => ({ judge: options.judge }),
  create: (options, resources) => {
    if (resources?.policies?.judge !== undefined) return winRateEnvironment(options, resources);
    throw new LyceumError({
      code: "config.invalid",
      message: "The win rate needs a judge and an opponent model.",
      hint: "Set them with --judge and --opponent, such as --opponent openai:gpt-5-mini --judge openai:gpt-5.",
    });
  },
});

/** Returns 1 for a win in both orders, 0 for a loss in both, and 0.5 otherwise, as in the paper. */
function score(verdicts: readonly PairVerdict[]): number {
  if (verdicts.every((verdict) => verdict === "first")) return 1;
  return verdicts.every((verdict) => verdict === "second") ? 0 : 0.5;
}
