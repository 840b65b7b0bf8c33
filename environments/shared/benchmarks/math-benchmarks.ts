import type { EnvironmentDefinition } from "../../../src/contract/environment.ts";
import { textOf } from "../../../src/contract/message.ts";
import { scored } from "../../../src/contract/reward.ts";
import { mapStepRewards } from "../../../src/core/wrappers/map-rewards.ts";
import { type WrappedEpisode, wrapEnvironment } from "../../../src/core/wrappers/wrap-environment.ts";
import { gsm8kEnvironment } from "../../gsm8k/gsm8k.ts";
import type { MathTask } from "../../math/math-problem.ts";
import { mathProblemsEnvironment } from "../../math-problems/math-problems.ts";
import { type Benchmark, defineBenchmark } from "./benchmark.ts";
import { matchesGsm8k } from "./gsm8k-extraction.ts";
import { withQuestionFormat } from "./question-formats.ts";

const gsm8kStop = ["Question:", "</s>", "<|im_end|>"];

/**
 * GSM8K (Cobbe et al. 2021, https://arxiv.org/abs/2110.14168). The completion format is the one of
 * lm-evaluation-harness's task `gsm8k`, with 5 worked examples. Reports the two accuracies of the harness in addition
 * to the environment's own.
 */
export const gsm8kBenchmark: Benchmark = defineBenchmark({
  id: "gsm8k",
  description:
    "Grade-school word problems. Also scored by the strict and flexible answer extraction of lm-evaluation-harness.",
  formats: {
    chat: { shots: 0, anyShots: true },
    completion: { shots: 5, anyShots: true, stop: gsm8kStop },
  },
  maxTokens: 512,
  correct: { stated: true },
  open: async ({ set, format, shots, signal }) => {
    // The harness's examples contain their calculator annotations.
    const environment = gsm8kEnvironment({ calculatorAnnotations: format === "completion", ...set });
    const marks = { question: "Question: ", between: "\n", solution: "Answer:" };
    const formatted = await withQuestionFormat(environment, { format, shots, marks, stop: gsm8kStop, signal });
    return withHarnessMatches(formatted);
  },
});

/** Adds the components `strict-match` and `flexible-extract`, which do not change the reward. */
function withHarnessMatches(environment: EnvironmentDefinition<MathTask>): EnvironmentDefinition<MathTask> {
  const episode = (gold: string): WrappedEpisode => ({
    step: async (actions, inner) => {
      const result = await inner(actions);
      const agents = mapStepRewards(result.agents, (reward, agent) => {
        if (reward.status === "unscored") return reward;
        const text = textOf(actions[agent]!.message);
        return scored(reward.value, {
          ...reward.components,
          "strict-match": Number(matchesGsm8k(text, { filter: "strict", gold })),
          "flexible-extract": Number(matchesGsm8k(text, { filter: "flexible", gold })),
        });
      });
      return { ...result, agents };
    },
    copy: () => episode(gold),
  });
  return wrapEnvironment(environment, { start: ({ task }) => episode(task.answer) });
}

const mathStop = ["Problem:"];

/**
 * MATH (Hendrycks et al. 2021, https://arxiv.org/abs/2103.03874). The completion format is Minerva's prompt, with 4
 * worked examples.
 */
export const mathBenchmark: Benchmark = defineBenchmark({
  id: "math",
  description: "Competition problems of MATH or of a file in its form. Answers are compared by meaning.",
  formats: {
    chat: { shots: 0, anyShots: true },
    completion: { shots: 4, anyShots: true, stop: mathStop },
  },
  maxTokens: 1024,
  correct: { stated: true },
  open: ({ set, format, shots, signal }) =>
    withQuestionFormat(mathProblemsEnvironment(set), {
      format,
      shots,
      marks: { question: "Problem:\n", between: "\n\n", solution: "Solution:" },
      stop: mathStop,
      signal,
    }),
});
