import { z } from "zod";
import type { StepOutcome } from "../../src/core/environment/define-environment.ts";
import type { AnswerChecker } from "./answer-checker.ts";
import { answerLine } from "./math-problem.ts";
import { sharedChecker } from "./shared-checker.ts";
import { type Verdict, verifyAnswer } from "./verify-answer.ts";

/** What the episodes of every math environment have in common. */
export interface MathEpisodeOptions {
  /** The prompt is the question alone and the reply the answer alone. */
  readonly answerOnly: boolean;
  readonly maxTurns: number;
  /** Added to the reward of an answer, right or wrong, that is stated as the prompt asks; 0 by default. */
  readonly formatReward: number;
}

/** The options of environments of math that say how an episode goes on and what it is worth. */
export const mathEpisodeOptions: {
  readonly maxTurns: z.ZodDefault<z.ZodInt>;
  readonly formatReward: z.ZodDefault<z.ZodNumber>;
} = {
  maxTurns: z.int().min(1).max(20).default(1).describe("Replies until the episode ends; wrong ones get feedback."),
  formatReward: z
    .number()
    .min(0)
    .max(1)
    .default(0)
    .describe("Added to the reward when the answer stands where the prompt asks for it."),
};

/** What the model is told beside the question. */
const mathInstruction: string = `Think step by step. End with a line that holds only the answer, written as: ${answerLine("answer")}`;

/** The episodes of a math environment. */
export interface MathEpisode {
  /** What they are in a definition; another judge may stand in for `open` and `step`. */
  readonly definition: {
    readonly maxTurns: number;
    readonly rewardRange: readonly [number, number];
    readonly statesCorrect: true;
    readonly open: () => Promise<AnswerChecker>;
    readonly reset: (context: { readonly task: { readonly question: string } }) => string;
    /** Judges a reply; wrong ones get another turn while there are any, with feedback that never tells the answer. */
    readonly step: (reply: {
      readonly task: { readonly answer: string };
      readonly text: string;
      readonly turn: number;
      /** Asked where {@link verifyAnswer} cannot read a marked answer. */
      readonly opened: AnswerChecker;
      readonly signal?: AbortSignal | undefined;
    }) => Promise<StepOutcome<undefined>>;
    readonly demonstrate: (task: { readonly solution: string }) => string;
  };
  /** What a reply earns that is judged already. */
  outcome(reply: { readonly text: string; readonly turn: number; readonly verdict: Verdict }): StepOutcome<undefined>;
}

/** A question, then replies until one is right or the turns are over. Only the last reply earns a reward. */
export function mathEpisode(options: MathEpisodeOptions): MathEpisode {
  const { answerOnly, maxTurns, formatReward } = options;
  const outcome: MathEpisode["outcome"] = ({ text, turn, verdict }) => {
    const info = { extracted: verdict.extracted ?? null, correct: verdict.correct };
    const stated = { correct: verdict.correct, info };
    if (!verdict.correct && turn + 1 < maxTurns) return { reply: feedback(verdict), ...stated };
    const correct = verdict.correct ? 1 : 0;
    if (formatReward === 0) return { components: { correct }, ...stated };
    return { components: { correct, format: isAsAsked(text, verdict, answerOnly) ? formatReward : 0 }, ...stated };
  };
  const definition: MathEpisode["definition"] = {
    maxTurns,
    rewardRange: [0, 1 + formatReward],
    statesCorrect: true,
    open: sharedChecker(),
    reset: ({ task: { question } }) => (answerOnly ? question : `${question}\n\n${mathInstruction}`),
    step: async ({ task: { answer }, text, turn, opened, signal }) => {
      const exact = verifyAnswer(text, answer);
      const isUnread = exact.extracted === undefined && exact.mark !== "none";
      const verdict = isUnread ? await opened.check({ text, gold: answer, ...(signal && { signal }) }) : exact;
      return outcome({ text, turn, verdict: verdict.correct ? verdict : exact });
    },
    demonstrate: ({ solution }) => solution,
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
