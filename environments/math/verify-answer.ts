import { answeredNumber } from "./answered-number.ts";
import { candidates } from "./candidates.ts";
import { normalLatex } from "./equivalence/normal-latex.ts";
import { plainMath } from "./plain-math.ts";
import { equalRationals, formatRational, multiplyRationals, type Rational, rational } from "./rational.ts";
import { equalInequalities, readInequality } from "./read-inequality.ts";
import { type NumberReading, readNumbers } from "./read-number.ts";
import { type StatedAnswer, statedAnswer } from "./stated-answer.ts";

/** The verdict of a verifier on a text. */
export interface Verdict {
  readonly correct: boolean;
  /** The answer that was read from the text, normalized. Absent if none was found. */
  readonly extracted?: string;
  /** Why no answer was found. It never reveals the right answer. */
  readonly reason?: string;
  /** How the text marked its answer. */
  readonly mark: StatedAnswer["mark"];
}

/** Judges if a text gives the answer `gold`. A verifier for more notations can replace it. */
export type AnswerVerifier = (text: string, gold: string) => Verdict;

/** The maximum length of a text. Of longer texts, only the end is judged. */
const maximumLength = 20_000;

/**
 * Compares the last answer in a text with the right answer, exactly: numbers as fractions (0.5 equals 1/2, but 0.33
 * does not equal 1/3), inequalities by variable, relation and bound, anything else as text in normal notation (`createAnswerChecker` compares
 * values). A number may have
 * separators, a currency, a unit or a percent sign. An unevaluated expression or a choice ("5 or 6") is no answer.
 */
export const verifyAnswer: AnswerVerifier = (text, gold) => {
  const stated = statedAnswer(text.slice(-maximumLength));
  const { mark } = stated;
  const plain = plainMath(stated.text);
  const wantedInequality = readInequality(plainMath(gold));
  if (wantedInequality !== undefined) {
    const found = readInequality(plain);
    if (found === undefined) return { correct: false, reason: "It states no single inequality.", mark };
    const extracted = `${found.variable} ${found.relation} ${formatRational(found.bound)}`;
    return { correct: equalInequalities(found, wantedInequality), extracted, mark };
  }
  const wanted = goldNumber(gold);
  if (wanted === undefined) return compareText(stated, gold);
  const { number: found, reason } = answeredNumber(stated);
  if (found === undefined) return { correct: false, reason, mark };
  const extracted = `${formatRational(found.value)}${found.percent ? "%" : ""}`;
  return { correct: sameNumber(found, wanted), extracted, mark };
};

/** Returns the number of a gold answer such as `1,234`, `3/4`, `x = 3` or `50%`. Undefined for anything else. */
function goldNumber(gold: string): NumberReading | undefined {
  const text = plainMath(gold).replace(/^\s*[A-Za-z]\s*=/, "");
  const [reading, ...others] = readNumbers(text);
  if (reading === undefined || reading.operand || others.length > 0 || reading.hasScaleLetter) return undefined;
  const rest = text.slice(0, reading.start) + text.slice(reading.end);
  return /^[\s.]*$/.test(rest) ? reading : undefined;
}

/** True if two numbers are equal. A percent sign on one side only may be a unit or a factor of 1/100. */
function sameNumber(a: NumberReading, b: NumberReading): boolean {
  if (equalRationals(a.value, b.value)) return true;
  if (a.percent === b.percent) return false;
  return a.percent ? equalRationals(hundredth(a.value), b.value) : equalRationals(a.value, hundredth(b.value));
}

function hundredth(value: Rational): Rational {
  return multiplyRationals(value, rational(1n, 100n));
}

/** Compares texts in normal notation: the statement, and the formula or the value that ends it. */
function compareText(stated: StatedAnswer, gold: string): Verdict {
  const { mark } = stated;
  const answers = candidates(stated).filter((answer) => normalText(answer) !== "");
  if (answers.length === 0) return { correct: false, reason: "It states no answer.", mark };
  const same = answers.find(
    (answer) => normalText(answer) === normalText(gold) || normalFormula(answer) === normalFormula(gold),
  );
  return { correct: same !== undefined, extracted: normalText(same ?? answers[0]!), mark };
}

function normalText(text: string): string {
  const joined = plainMath(text).toLowerCase().replace(/\s+/g, "");
  return joined.endsWith(".") ? joined.slice(0, -1) : joined;
}

/** Writes a formula in one notation. Case, which tells variables apart, stays, and so do braces. */
function normalFormula(text: string): string {
  return normalLatex(text)
    .replace(/[$\s]/g, "")
    .replace(/\{[bp]matrix\}/g, "{pmatrix}");
}
