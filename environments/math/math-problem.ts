import type { Random } from "../../src/core/random/random.ts";

/** A question with one correct answer. */
export interface MathTask {
  readonly question: string;
  readonly answer: string;
  /** The kind of problem, such as `addition`, `equation` or `word-problem`. */
  readonly kind: string;
  readonly difficulty: number;
  /** A worked solution that ends in the answer. Models see it only in demonstrations. */
  readonly solution: string;
}

/** A generated problem with both forms of its question, before one is chosen. */
export interface MathProblem {
  readonly kind: string;
  readonly difficulty: number;
  /** The question as a sentence, such as `What is 12 + 34?`. */
  readonly question: string;
  /** The shortest form of the question, for tiny models, such as `12+34=`. */
  readonly terse: string;
  /** The lines of the worked solution, without the final line with the answer. */
  readonly steps: readonly string[];
  readonly answer: string;
}

/** Generates problems of one kind. All random choices use `random`. The difficulty is a whole number from 1 to 5. */
export type ProblemGenerator = (random: Random, difficulty: number) => MathProblem;

/** The minimum and maximum difficulty. */
export const difficulties = { easiest: 1, hardest: 5 } as const;

/** Returns the answer line, which ends solutions and is the requested answer format. */
export function answerLine(answer: string): string {
  return `#### ${answer}`;
}

/** Returns the task of a problem. `answerOnly` selects the short question and an answer without its solution. */
export function mathTask(problem: MathProblem, answerOnly: boolean): MathTask {
  const { kind, difficulty, answer } = problem;
  return {
    question: answerOnly ? problem.terse : problem.question,
    answer,
    kind,
    difficulty,
    solution: answerOnly ? answer : [...problem.steps, answerLine(answer)].join("\n"),
  };
}
