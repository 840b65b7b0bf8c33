import { LyceumError } from "../../../src/contract/errors/index.ts";
import { openEnvironment } from "../../../src/core/environment/registry.ts";
import { debateEntry, debateEnvironment } from "../../debate/debate.ts";
import { toolsEnvironment } from "../../tools/tools.ts";
import { winRateEnvironment } from "../../win-rate/win-rate.ts";
import { writingEnvironment } from "../../writing/writing.ts";
import type { Benchmark } from "./benchmark.ts";

/** Questions that need tools, generated, or of a file. */
export const toolsBenchmark: Benchmark = {
  name: "tools",
  description: "Questions that need a calculator, a search, files or code.",
  split: "test",
  formats: { chat: { shots: 0 } },
  maxTokens: 512,
  correct: { stated: true },
  open: async ({ set }) => toolsEnvironment(set),
};

/** Debates; with another model as the opponent a tournament, each topic from both seats. */
export const debateBenchmark: Benchmark = {
  name: "debate",
  description: "Debates between two models, each topic from both seats, judged by rules or by a model.",
  split: "test",
  formats: { chat: { shots: 0 } },
  maxTokens: 400,
  correct: null,
  open: async ({ set, judge, openPolicy: open }) =>
    judge === undefined
      ? openEnvironment(debateEntry, { options: set, open })
      : debateEnvironment({ judge: "model", ...set }, { judge }),
};

/** Two agents write a summary, or an introduction. */
export const writingBenchmark: Benchmark = {
  name: "writing",
  description: "Summaries and introductions written by two agents, judged by rules.",
  split: "test",
  formats: { chat: { shots: 0 } },
  maxTokens: 512,
  correct: null,
  open: async ({ set }) => writingEnvironment(set),
};

/** Open questions of several turns, such as MT-Bench's (Zheng et al. 2023, https://arxiv.org/abs/2306.05685). */
export const winRateBenchmark: Benchmark = {
  name: "win-rate",
  description: "Answers to open questions beside those of another model, compared by a judge in both orders.",
  split: "train",
  formats: { chat: { shots: 0 } },
  maxTokens: 1024,
  correct: null,
  seats: "fixed",
  open: async ({ set, judge }) => {
    if (judge !== undefined) return winRateEnvironment(set, { judge });
    throw new LyceumError({
      code: "config.invalid",
      message: "The win rate needs a judge, and another model to be compared with.",
      hint: "Name them by --judge and --opponent, such as --opponent openai:gpt-5-mini --judge openai:gpt-5.",
    });
  },
};
