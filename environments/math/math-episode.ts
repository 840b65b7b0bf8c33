import { z } from "zod";
import type { StepContext, StepOutcome } from "../../src/core/environment/define-environment.ts";
import type { AnswerChecker } from "./answer-checker.ts";
import { answerLine } from "./math-problem.ts";
import { inAskedScale } from "./scale-words.ts";
import { sharedChecker } from "./shared-checker.ts";
import { type Verdict, verifyAnswer } from "./verify-answer.ts";

/** The common options of all math environments' episodes. */
export interface MathEpisodeOptions {
  /** True if the prompt is the question alone and the reply the answer alone. */
  readonly answerOnly: boolean;
  readonly maxTurns: number;
  /** Added to the reward of an answer, correct or not, in the requested format. Defaults to 0. */
  readonly formatReward: number;
}

/** The schema of the options of math environments that control episodes and rewards. */
export const mathEpisodeOptions = {
  maxTurns: z.int().min(1).max(20).default(1).describe("The maximum number of replies. Wrong replies get feedback."),
  formatReward: z
    .number()
    .min(0)
    .max(1)
    .default(0)
    .describe("Added to the reward if the answer is in the requested format."),
};

/** The instruction after the question. */
const mathInstruction: string = `Think step by step. End with a line that holds only the answer, written as: ${answerLine("answer")}`;

/**
 * Creates the episodes of a math environment: a question, then replies until one is correct or no turn is left. Only
 * the last reply gets a reward.
 */
export function mathEpisode({ answerOnly, maxTurns, formatReward }: MathEpisodeOptions) {
  /** Returns the outcome of a reply. A wrong one gets another turn, if any is left, with feedback without the answer. */
  const outcome = ({
    text,
    turn,
    verdict,
  }: {
    text: string;
    turn: number;
    verdict: Verdict;
  }): StepOutcome<undefined> => {
    const info = { extracted: verdict.extracted ?? null, correct: verdict.correct };
    const stated = { correct: verdict.correct, info };
    if (!verdict.correct && turn + 1 < maxTurns) return { reply: feedback(verdict), ...stated };
    const components: Record<string, number> = { correct: verdict.correct ? 1 : 0 };
    if (formatReward !== 0) components.format = isAsAsked(text, verdict, answerOnly) ? formatReward : 0;
    return { components, ...stated };
  };
  /** The part of an environment definition. Other environments may replace `open` and `step`. */
  const definition = {
    maxTurns,
    rewardRange: [0, 1 + formatReward] as const,
    statesCorrect: true,
    open: sharedChecker(),
    reset: ({ task: { question } }: { readonly task: { readonly question: string } }) =>
      answerOnly ? question : `${question}\n\n${mathInstruction}`,
    step: async (
      reply: Pick<
        StepContext<{ readonly question: string; readonly answer: string }, undefined, AnswerChecker>,
        "task" | "text" | "turn" | "opened" | "signal"
      >,
    ) => {
      const { task, turn, opened, signal } = reply;
      const text = inAskedScale(reply.text, task.question);
      const exact = verifyAnswer(text, task.answer);
      // The checker reads marked answers that `verifyAnswer` cannot read.
      const isUnread = exact.extracted === undefined && exact.mark !== "none";
      const verdict = isUnread ? await opened.check({ text, gold: task.answer, signal }) : exact;
      return outcome({ text, turn, verdict: verdict.correct ? verdict : exact });
    },
    demonstrate: ({ solution }: { readonly solution: string }) => solution,
  };
  return { definition, outcome };
}

function isAsAsked(text: string, verdict: Verdict, answerOnly: boolean): boolean {
  if (verdict.extracted === undefined) return false;
  return answerOnly ? text.trim() === verdict.extracted : verdict.mark === "hashes";
}

function feedback(verdict: Verdict): string {
  return verdict.extracted === undefined
    ? `No answer was found. ${verdict.reason ?? ""} State it on the last line, written as: ${answerLine("answer")}`
    : "That is not the right answer. Check each step and answer again.";
}
