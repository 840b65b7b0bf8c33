import { openEnvironment } from "../../../src/core/environment/registry.ts";
import { debateEntry } from "../../debate/debate.ts";
import { toolsEnvironment } from "../../tools/tools.ts";
import { winRateEntry } from "../../win-rate/win-rate.ts";
import { writingEnvironment } from "../../writing/writing.ts";
import { type Benchmark, defineBenchmark } from "./benchmark.ts";

/** Questions that need tools, generated or from a file. */
export const toolsBenchmark: Benchmark = defineBenchmark({
  id: "tools",
  description: "Questions that need a calculator, a search, files or code.",
  maxTokens: 512,
  correct: { stated: true },
  open: async ({ set }) => toolsEnvironment(set),
});

/** Debates. With another model as the opponent, they are a tournament in which each topic is played from both sides. */
export const debateBenchmark: Benchmark = defineBenchmark({
  id: "debate",
  description: "Debates between two models, each topic from both sides, judged by rules or by a model.",
  maxTokens: 400,
  correct: null,
  isJudged: true,
  open: async ({ set, openPolicy: open }) => openEnvironment(debateEntry, { options: set, open }),
});

/** Summaries and introductions, written by two agents. */
export const writingBenchmark: Benchmark = defineBenchmark({
  id: "writing",
  description: "Summaries and introductions written by two agents, judged by rules.",
  maxTokens: 512,
  correct: null,
  open: async ({ set }) => writingEnvironment(set),
});

/** Open questions with several turns, such as MT-Bench's (Zheng et al. 2023, https://arxiv.org/abs/2306.05685). */
export const winRateBenchmark: Benchmark = defineBenchmark({
  id: "win-rate",
  description: "Answers to open questions, compared with another model's by a judge in both orders.",
  split: "train",
  maxTokens: 1024,
  correct: null,
  roles: "fixed",
  isJudged: true,
  open: async ({ set, openPolicy: open }) => openEnvironment(winRateEntry, { options: set, open }),
});
