import { LyceumError } from "../../src/contract/errors/index.ts";
import { answeredNumber } from "./answered-number.ts";
import { candidates, hasDenial, lastLine, valueOfSentence } from "./candidates.ts";
import { englishNumber } from "./digit-groups.ts";
import { asksForSimpleForm, hasUnreducedFraction } from "./equivalence/asked-form.ts";
import type { Comparison } from "./equivalence/comparison.ts";
import { ComparisonPool, type ComparisonPoolOptions } from "./equivalence/comparison-pool.ts";
import { type CopyTest, copyTest } from "./equivalence/copied-answer.ts";
import { equalMeasuredNumbers, type MeasuredNumber, measuredNumber } from "./equivalence/measured-number.ts";
import { normalLatex } from "./equivalence/normal-latex.ts";
import { plainMath } from "./plain-math.ts";
import { formatRational } from "./rational.ts";
import { readNumbers } from "./read-number.ts";
import { inAskedScale } from "./scale-words.ts";
import { type StatedAnswer, statedAnswer } from "./stated-answer.ts";
import { isRounded, requestedDecimals } from "./stated-precision.ts";
import { type Verdict, verifyAnswer } from "./verify-answer.ts";

/** Checks answers in any notation. Dispose it after use, because it may own threads. */
export interface AnswerChecker extends AsyncDisposable {
  /**
   * Returns whether a text states the answer `gold`, or one of several. If `question` is given, an answer copied from
   * it is wrong unless `gold` is in it, too. If the question requests a simple form, an answer that is less simplified
   * than `gold` is wrong. An answer that takes too much time or memory is wrong. Rejects with `environment.failed` if
   * the comparison fails, and with the signal's reason.
   */
  check(question: {
    readonly text: string;
    readonly gold: string | readonly string[];
    readonly question?: string;
    readonly signal?: AbortSignal;
  }): Promise<Verdict>;
}

/** The maximum length of an answer, in characters. Longer answers are wrong. */
const longestAnswer = 1_000;

/**
 * Creates an answer checker. {@link verifyAnswer} decides plain numbers immediately. Everything else (expressions,
 * roots, intervals, sets, tuples, matrices, equations, inequalities) is compared in a thread with a timeout.
 */
export function createAnswerChecker(options: ComparisonPoolOptions = {}): AnswerChecker {
  const pool = new ComparisonPool(options);
  return {
    check: async ({ text: reply, gold, question, signal }) => {
      signal?.throwIfAborted();
      const text = question === undefined ? reply : inAskedScale(reply, question);
      const golds = typeof gold === "string" ? [gold] : gold;
      const stated = statedAnswer(text.slice(-20_000));
      const { mark } = stated;
      const asked = question === undefined ? undefined : { question, golds };
      const rest: string[] = [];
      let failed: Verdict | undefined;
      for (const wanted of golds) {
        const verdict = decideAtOnce({ text, stated, gold: wanted, question });
        if (verdict?.correct === true) {
          const isRefused = asked && numbersIn(stated.text, verdict).every(refusal(asked));
          return isRefused === true ? { ...verdict, correct: false } : verdict;
        }
        failed ??= verdict;
        if (verdict === undefined) rest.push(wanted);
      }
      const answers = candidates(stated).filter((answer) => answer.length <= longestAnswer);
      if (answers.length === 0) return { correct: false, reason: "It states no answer.", mark };
      if (rest.length === 0) return failed ?? { correct: false, extracted: answers[0]!, mark };
      const outcome = await pool.compare({ answers, golds: rest, ...(asked && { asked }) }, signal);
      if (outcome.type === "died") throw comparisonError(outcome.cause);
      return { correct: outcome.type === "decided" && outcome.equal, extracted: answers[0]!, mark };
    },
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  };
}

/** Returns the verdict if the reference and the stated answer are exact numbers, or undefined if it cannot decide. */
function decideAtOnce(options: {
  readonly text: string;
  readonly stated: StatedAnswer;
  readonly gold: string;
  readonly question: string | undefined;
}): Verdict | undefined {
  const { text, stated, gold, question } = options;
  const wanted = numberIn(gold);
  if (wanted === undefined) return undefined;
  const written = stated.mark === "none" ? (valueOfSentence(stated.text) ?? numberLine(stated.text)) : stated.text;
  const found = measuredAnswer(written);
  if (found !== undefined) {
    const extracted = formatNumber(found);
    const correct = equalMeasuredNumbers(found, wanted) || isAsRounded({ written, found, wanted, question });
    return { correct, extracted, mark: stated.mark };
  }
  const isRead = answeredNumber(stated).isPlain || isProse(written);
  return isRead ? verifyAnswer(text, formatNumber(wanted)) : undefined;
}

/** Reads a number in an answer, also with blanks or European separators. */
function measuredAnswer(text: string): MeasuredNumber | undefined {
  return numberIn(text) ?? numberIn(englishNumber(text.replace(/\\ /g, " ").replace(/^[\s$]+/, "")));
}

/** Returns true if a decimal is the rounded reference, if the question requests a number of places. */
function isAsRounded(options: {
  readonly written: string;
  readonly found: MeasuredNumber;
  readonly wanted: MeasuredNumber;
  readonly question: string | undefined;
}): boolean {
  const { written, found, wanted, question } = options;
  const places = question === undefined ? undefined : requestedDecimals(question, wanted.number);
  if (places === undefined || found.percent !== wanted.percent) return false;
  const decimal = /^\D*?(-?[\d,]*\d\.?\d*)/.exec(plainMath(written).replace(/^\s*[A-Za-z]\s*=/, ""))?.[1];
  if (decimal === undefined || !equalMeasuredNumbers({ ...found, number: wanted.number }, wanted)) return false;
  return isRounded(decimal.replaceAll(",", ""), { exact: wanted.number, places });
}

/**
 * Returns a test that rejects numbers with the correct value: copied from the question, or not simplified as requested.
 */
function refusal({ question, golds }: NonNullable<Comparison["asked"]>): CopyTest {
  const isCopied = copyTest(question, golds);
  const isReduced = asksForSimpleForm(question) && !golds.some(hasUnreducedFraction);
  return (number) => isCopied(number) || (isReduced && hasUnreducedFraction(number));
}

/**
 * Returns the parts of a text that have the verdict's value: the text itself if it is a number, otherwise the numbers
 * in it.
 */
function numbersIn(text: string, { extracted }: Verdict): readonly string[] {
  if (numberIn(text) !== undefined) return [text];
  const plain = plainMath(text);
  const numbers = readNumbers(plain).filter(
    ({ value, percent }) => `${formatRational(value)}${percent ? "%" : ""}` === extracted,
  );
  return numbers.length === 0 ? [text] : numbers.map(({ start, end }) => plain.slice(start, end));
}

function numberIn(text: string): MeasuredNumber | undefined {
  return text.length > longestAnswer ? undefined : measuredNumber(normalLatex(text));
}

function formatNumber({ number, percent }: MeasuredNumber): string {
  return `${formatRational(number)}${percent ? "%" : ""}`;
}

/** A dollar sign before an amount in a sentence, not at the start of a formula. */
const amount = /\\?\$(?=\d[\d,]*(?:\.\d+)?(?:[ \t]+[a-z]{2,}|[.,;:!?*]*(?:\s|$)))/gi;

/**
 * Returns true for words around plain numbers, without a formula that could contain the numbers and without a negation.
 */
function isProse(text: string): boolean {
  const isFormula =
    /[\\[\](){}<>$|!^]|(?<![a-z])(?:a?(?:sin|cos|tan)|cot|sec|csc|log|ln|exp|sqrt|pi|inf|mod)(?![a-z])/i;
  const words = text.replace(amount, " ").replaceAll("**", " ");
  return /[a-z]{2,}/i.test(words) && !isFormula.test(words) && !hasDenial.test(words);
}

/** Returns the last line of a text if it has a number, otherwise the text. */
function numberLine(text: string): string {
  const line = lastLine(text);
  return /\d/.test(line) ? line : text;
}

function comparisonError(cause: string): LyceumError {
  return new LyceumError({
    code: "environment.failed",
    message: `An answer could not be compared: the comparison thread died twice (${cause}).`,
    hint: "The episode is unscored. Check that enough memory is available.",
  });
}
