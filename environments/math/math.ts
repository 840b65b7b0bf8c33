import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { defineEnvironment } from "../../src/core/environment/define-environment.ts";
import { defineEnvironmentEntry, parseEnvironmentOptions } from "../../src/core/environment/registry.ts";
import type { Random } from "../../src/core/random/random.ts";
import type { AnswerChecker } from "./answer-checker.ts";
import { arithmeticGenerator } from "./arithmetic.ts";
import { equationGenerator } from "./equations.ts";
import { mathEpisode } from "./math-episode.ts";
import { type MathOptions, mathOptionsSchema, rangeOf } from "./math-options.ts";
import type { MathProblem, MathTask, ProblemGenerator } from "./math-problem.ts";
import { mathTaskset } from "./math-taskset.ts";
import { multiStepGenerator } from "./multi-step.ts";
import { wordProblemGenerator } from "./word-problems.ts";

const description = "Generated math problems with one exact answer: arithmetic, equations, word problems, multi-step.";

/**
 * Creates the math environment. One agent answers a generated question and gets the reward 1 for the correct answer.
 * `train` and `test` never share a problem. Throws `config.invalid` for invalid options.
 */
export function mathEnvironment(options: Partial<MathOptions> = {}): EnvironmentDefinition<MathTask> {
  const { answerOnly, maxTurns, formatReward, seed, limit, ...rest } = parseEnvironmentOptions(
    "math",
    mathOptionsSchema,
    options,
  );
  const generate = problemGenerator(rest);
  const { definition } = mathEpisode({ answerOnly, maxTurns, formatReward });
  return defineEnvironment<MathTask, undefined, AnswerChecker>({
    id: "math",
    description,
    splits: ["train", "test"],
    tasks: (split) => mathTaskset({ split: split === "test" ? "test" : "train", seed, generate, answerOnly, limit }),
    groupOf: ({ difficulty }) => String(difficulty),
    ...definition,
  });
}

/** The registry entry of the math environment. */
export const mathEntry = defineEnvironmentEntry({
  id: "math",
  description,
  options: mathOptionsSchema,
  create: mathEnvironment,
});

function problemGenerator(
  options: Pick<MathOptions, "tasks" | "difficulty" | "operations" | "digits">,
): (random: Random) => MathProblem {
  const { operations, digits } = options;
  const arithmetic = arithmeticGenerator({ operations, ...(digits === undefined ? {} : { digits: rangeOf(digits) }) });
  const generators: Readonly<Record<Exclude<MathOptions["tasks"], "mixed">, ProblemGenerator>> = {
    arithmetic,
    equations: equationGenerator,
    "word-problems": wordProblemGenerator,
    "multi-step": multiStepGenerator,
  };
  const wanted = options.tasks === "mixed" ? Object.values(generators) : [generators[options.tasks]];
  const [easiest, hardest] = rangeOf(options.difficulty);
  return (random) => random.pick(wanted)(random, random.integer(easiest, hardest));
}
