import type { Random } from "../../src/core/random/random.ts";

/** A question with one right answer. */
export interface MathTask {
  readonly question: string;
  readonly answer: string;
  /** What was asked for, such as `addition`, `equation` or `word-problem`. */
  readonly kind: string;
  readonly difficulty: number;
  /** A worked solution that ends in the answer. No model sees it but in demonstrations. */
  readonly solution: string;
}

/** What a generator makes: a task in both of its forms, before one is chosen. */
export interface MathProblem {
  readonly kind: string;
  readonly difficulty: number;
  /** In a sentence: `What is 12 + 34?` */
  readonly question: string;
  /** As short as can be, for tiny models: `12+34=` */
  readonly terse: string;
  /** The worked solution, line by line, without the final line that states the answer. */
  readonly steps: readonly string[];
  readonly answer: string;
}

/** Makes problems of one sort. Everything random comes from `random`; difficulty is a whole number from 1 to 5. */
export type ProblemGenerator = (random: Random, difficulty: number) => MathProblem;

/** The least and greatest difficulty. */
export const difficulties = { easiest: 1, hardest: 5 } as const;

/** How solutions end and answers are asked for. */
export function answerLine(answer: string): string {
  return `#### ${answer}`;
}

/** The task of a problem. `answerOnly` takes the short question and an answer without its solution. */
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
