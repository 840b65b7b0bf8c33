import { isDenied, joinsNumbers, offersAnother, withoutReason } from "./clause.ts";
import { englishNumber } from "./digit-groups.ts";
import { plainMath } from "./plain-math.ts";
import { equalRationals } from "./rational.ts";
import { type NumberReading, readNumbers } from "./read-number.ts";
import type { StatedAnswer } from "./stated-answer.ts";

/** The number that a reply states, or why it states none. */
export type AnsweredNumber =
  /** `isPlain`: only words are around it, so that nothing else can be meant. */
  | { readonly number: NumberReading; readonly isPlain: boolean; readonly reason?: undefined }
  | { readonly number?: undefined; readonly isPlain: false; readonly reason: string };

const none = (reason: string): AnsweredNumber => ({ isPlain: false, reason });
const several = none("It states more than one answer.");

/**
 * Reads the number that an answer states. After a mark it is the first number of the statement, otherwise the last one
 * of the text. Reasons, denied numbers and words around it do not count. A statement such as `9 * 2 = 18` states its
 * last side. Alternatives and lists state no number.
 */
export function answeredNumber(stated: StatedAnswer): AnsweredNumber {
  return stated.mark === "none" ? lastNumber(stated.text) : statedNumber(stated);
}

/** A number directly before an exclamation mark that ends no sentence: a factorial. */
const factorial = /\d\s*!(?![\s"'”»)*_.!]*(?:$|\n|\s\p{Lu}))/u;
/** Anything else than words around `#`, which stands for the number. */
const formula =
  /[\\[\]{}<>|^!_=+*/~×÷·√∞≤≥≈±]|#[A-Za-z](?![A-Za-z])|(?<![\p{L}'’])[xyznk]\s*#|[A-Za-z]\(|#\s*\(|#\s*-\s*[A-Za-z](?![A-Za-z])|(?<![A-Za-z])(?:a?(?:sin|cos|tan)|cot|sec|csc|log|ln|exp|sqrt|pi|inf|mod|base)(?![A-Za-z])/iu;
/** A letter that stands alone and is no unit. */
const variable = /#\s+(?![mgsLlhNJWVAKCF](?![A-Za-z]))[A-Za-z](?![\p{L}'’])(?!\s+[A-Za-z])/u;

/** Returns true if only words and punctuation surround a number, as in "18 eggs" or `总共 18 个`. */
function isAmongWords(before: string, after: string): boolean {
  const label = before.replace(/^[^\p{L}\d]*=\s*/u, "").replace(/^\s*\p{L}[\p{L}\s]{0,60}=(?=\s*\(?\s*$)/u, "");
  const unit = after
    .replace(/^[ ]?\/[ ]?(?=\p{L}{1,12}(?!\p{L}))/u, " ")
    .replace(/^([ ]?(?:\p{L}+[ ]?[/·][ ]?)?\p{L}+)\^ ?\{?-?[1-4]\}?/u, "$1")
    .replace(/^([ ]?\p{L}+)[/·](?=\p{L})/u, "$1 ")
    .replace(/!(?=[\s"'”»)*_.!]*$)/, "");
  const words = `${label}#${unit}`
    .replace(/\(#\)/, "#")
    .replaceAll("**", " ")
    .replace(/^[\s*_]+|[*_]+(?=\W*$)/g, " ");
  return !formula.test(words) && !variable.test(words);
}

/** Finds where the words of a number end: before punctuation, a bracket or a dash. */
const clauseEnd = /[,;:]\s+|[,;:.]*\s*$|\s+\(|\s+[-—–]+\s+|[—;]|\.\s/u;
/** A modulus or a base belongs to the number. */
const modulus = /^[\s,(]*(?:mod|modulo|base)\b/i;
/** Words that continue with a later result. */
const consequence =
  /^[\s,;:—–-]*(?:and\s+)?(?:so|thus|hence|therefore|then|which (?:gives|makes|means|leaves|is)|i\.?e|that is)\b/i;

/** Reads the first number of a marked statement that is not denied. */
function statedNumber({ text, mark }: StatedAnswer): AnsweredNumber {
  const plain = inEnglishNotation(plainMath(text));
  const [first, second] = statedNumbers(plain);
  if (first === undefined) return none(readNumbers(plain).length > 0 ? "It denies a number." : "It states no number.");
  const rest = plain.slice(first.end);
  const end = first.end + (modulus.test(rest) ? rest.length : rest.search(clauseEnd));
  const isFactorial = mark === "boxed" ? /\d\s*!/.test(plain) : factorial.test(text);
  if (!first.operand && isAlternative(plain, first, second)) return several;
  if (!first.operand && !isFactorial && isAmongWords(plain.slice(0, first.start), plain.slice(first.end, end))) {
    if (second === undefined || !consequence.test(plain.slice(end))) return { number: first, isPlain: true };
  }
  return lastSide(withoutReason(plain), isFactorial);
}

/** Reads the first number after the last equals sign. */
function lastSide(text: string, isFactorial: boolean): AnsweredNumber {
  const side = text.slice(text.lastIndexOf("=") + 1);
  const [first, second] = statedNumbers(side);
  if (first === undefined) return none("It states no number.");
  const isBound = /(?:[<>≤≥]|\\[lg]eq?)\s*$/.test(side.slice(0, first.start));
  if (first.operand || isFactorial || isBound) return none("It states an expression, not a number.");
  return isAlternative(side, first, second) ? several : { number: first, isPlain: false };
}

/** Reads the last number of an unmarked text. */
function lastNumber(text: string): AnsweredNumber {
  const line = text.split("\n").findLast((one) => /\d/.test(one)) ?? "";
  const whole = inEnglishNotation(plainMath(line));
  const shorter = withoutReason(whole);
  // "She has 9 left since 16 - 7 = 9, and makes 18": the sentence goes on after its reason.
  const plain = /[,;]\s/.test(whole.slice(shorter.length).replace(/^[\s,;]+/, "")) ? whole : shorter;
  const numbers = statedNumbers(plain);
  const [before, last] = numbers.length > 1 ? numbers.slice(-2) : [undefined, numbers[0]];
  if (last === undefined) return none(readNumbers(plain).length > 0 ? "It denies a number." : "It states no number.");
  if (before !== undefined && isUnmarkedAlternative(plain, numbers)) return several;
  if (last.operand || factorial.test(line)) return none("It ends in an expression, not in a number.");
  const isOnly = numbers.every((number) => sameValue(number, last));
  const around = [plain.slice(0, numbers[0]!.start), plain.slice(last.end)] as const;
  return { number: last, isPlain: isOnly && numbers.length === 1 && isAmongWords(...around) };
}

/** A number in Indian groups, the last of three digits and the others of two: `12,34,567`. In brackets it may be a list. */
const indianGroups = /(?<![\d.,([{]|[([{][ ])[1-9]\d?(?:,\d\d)+,\d{3}(?![\d,)\]}]|[ ][)\]}])/g;

/** Writes numbers in Indian groups, and a number with blanks or European separators if it is the only one, in English. */
function inEnglishNotation(given: string): string {
  const text = given.replace(indianGroups, (digits) => digits.replaceAll(",", ""));
  const words = /^[\p{L}\p{M}\s:]*/u.exec(text)![0];
  const english = words + englishNumber(text.slice(words.length));
  return readNumbers(english).length === 1 ? english : text;
}

/** Returns the numbers of a text that are not denied. */
function statedNumbers(text: string): readonly NumberReading[] {
  return readNumbers(text).filter(({ start, end }) => !isDenied(text.slice(0, start), text.slice(end)));
}

function isAlternative(text: string, first: NumberReading, second: NumberReading | undefined): boolean {
  if (second === undefined || sameValue(first, second)) return false;
  const between = text.slice(first.end, second.start).replace(/(?<![A-Za-z])[A-Za-z]\s*=\s*$/, "");
  // In "5; 3 + 4 = 7" a calculation follows, not another answer.
  if (second.operand && /^\s*[,;]\s*$/.test(between) && text.includes("=", second.end)) return false;
  return joinsNumbers(between) || offersAnother(between);
}

/** Returns true if the last numbers of an unmarked text are alternatives, or if it is a mere list. */
function isUnmarkedAlternative(text: string, numbers: readonly NumberReading[]): boolean {
  const [before, last] = numbers.slice(-2) as [NumberReading, NumberReading];
  if (sameValue(before, last)) return false;
  const between = text.slice(before.end, last.start);
  const isMereList = !/[\p{L}=+*/×÷·^\\-]/u.test(text) || (numbers.length > 2 && /^\s*,\s*$/.test(between));
  return isMereList || (joinsNumbers(between) && !/^\s*[,;/|~-]\s*$/.test(between));
}

function sameValue(a: NumberReading, b: NumberReading): boolean {
  return a.percent === b.percent && equalRationals(a.value, b.value);
}
