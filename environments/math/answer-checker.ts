import { LyceumError } from "../../src/errors/index.ts";
import { ComparisonPool, type ComparisonPoolOptions } from "./equivalence/comparison-pool.ts";
import { equalMeasuredNumbers, type MeasuredNumber, measuredNumber } from "./equivalence/measured-number.ts";
import { normalLatex } from "./equivalence/normal-latex.ts";
import { formatRational } from "./rational.ts";
import { type StatedAnswer, statedAnswer } from "./stated-answer.ts";
import { type Verdict, verifyAnswer } from "./verify-answer.ts";

/** Judges answers in every notation. Dispose of it when it is no longer needed: it may hold threads. */
export interface AnswerChecker extends AsyncDisposable {
  /**
   * Whether a text states the answer `gold`, or one of several. Rejects with `environment.failed` where the comparison
   * could not be made, and with the signal's reason. An answer that takes too long or too much memory is wrong.
   */
  check(question: {
    readonly text: string;
    readonly gold: string | readonly string[];
    readonly signal?: AbortSignal;
  }): Promise<Verdict>;
}

/** Longer answers are wrong. */
const longestAnswer = 1_000;

/**
 * A checker of answers. Plain numbers are decided at once by {@link verifyAnswer}; everything else (expressions, roots,
 * intervals, sets, tuples, matrices, equations, inequalities) is compared in a thread that its deadline ends.
 */
export function createAnswerChecker(options: ComparisonPoolOptions = {}): AnswerChecker {
  const pool = new ComparisonPool(options);
  return {
    check: async ({ text, gold, signal }) => {
      signal?.throwIfAborted();
      const golds = typeof gold === "string" ? [gold] : gold;
      const stated = statedAnswer(text.slice(-20_000));
      const rest: string[] = [];
      let failed: Verdict | undefined;
      for (const wanted of golds) {
        const verdict = decideAtOnce(text, stated, wanted);
        if (verdict?.correct === true) return verdict;
        failed ??= verdict;
        if (verdict === undefined) rest.push(wanted);
      }
      const answers = candidates(stated).filter((answer) => answer.length <= longestAnswer);
      const { mark } = stated;
      if (answers.length === 0) return { correct: false, reason: "It states no answer.", mark };
      if (rest.length === 0) return failed ?? { correct: false, extracted: answers[0]!, mark };
      const outcome = await pool.compare({ answers, golds: rest }, signal);
      if (outcome.type === "died") throw comparisonError(outcome.cause);
      return { correct: outcome.type === "decided" && outcome.equal, extracted: answers[0]!, mark };
    },
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  };
}

/** The verdict on exact numbers, where the gold is one and the text states one; undefined where it cannot tell. */
function decideAtOnce(text: string, stated: StatedAnswer, gold: string): Verdict | undefined {
  const wanted = numberIn(gold);
  if (wanted === undefined) return undefined;
  const found = numberIn(stated.text);
  if (found !== undefined) {
    const extracted = formatNumber(found);
    return { correct: equalMeasuredNumbers(found, wanted), extracted, mark: stated.mark };
  }
  return isProse(stated.text) ? verifyAnswer(text, formatNumber(wanted)) : undefined;
}

function numberIn(text: string): MeasuredNumber | undefined {
  return text.length > longestAnswer ? undefined : measuredNumber(normalLatex(text));
}

function formatNumber({ number, percent }: MeasuredNumber): string {
  return `${formatRational(number)}${percent ? "%" : ""}`;
}

/** Words around plain numbers: no formula that the numbers could be parts of, and nothing that denies them. */
function isProse(text: string): boolean {
  const isFormula =
    /[\\[\](){}<>$|!^]|(?<![a-z])(?:a?(?:sin|cos|tan)|cot|sec|csc|log|ln|exp|sqrt|pi|inf|mod)(?![a-z])/i;
  const isDenied = /\b(?:not?|never|neither|nor|except|unless)\b|n't\b/i;
  return /[a-z]{2,}/i.test(text) && !isFormula.test(text) && !isDenied.test(text);
}

/** What may be the answer: the stated text, of an unmarked text its last line and the last formula in it. */
function candidates({ text, mark }: StatedAnswer): string[] {
  const answer = mark === "none" ? (text.trimEnd().split("\n").at(-1) ?? "") : text;
  const formula = mark === "boxed" ? undefined : [...answer.matchAll(/\$([^$]+)\$/g)].at(-1)?.[1];
  return [answer, formula ?? ""].map((candidate) => candidate.trim()).filter((candidate) => candidate !== "");
}

function comparisonError(cause: string): LyceumError {
  return new LyceumError({
    code: "environment.failed",
    message: `An answer could not be compared: the thread that compares answers has died twice (${cause}).`,
    hint: "The episode is left unscored. Look for a lack of memory, or for what ends threads.",
  });
}
