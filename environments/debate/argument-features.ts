import { isCopy, isSound, type Sentence } from "./sentence.ts";
import { shared } from "./words.ts";

/** What the rule-based judge sees in one argument, each from 0 to 1. */
export type ArgumentFeatures = {
  /** New key points of the own side, of those that were due. */
  readonly points: number;
  readonly length: number;
  /** The share of sentences that count. */
  readonly clarity: number;
  readonly reasoning: number;
  readonly evidence: number;
  /** Absent where no opponent had been heard. */
  readonly answering?: number;
};

/** The worth of an argument: its form, of which a fifth is paid without a key point. */
export function argumentValue({ points, ...form }: ArgumentFeatures): number {
  const parts = Object.values(form);
  const mean = parts.reduce((total, part) => total + part, 0) / parts.length;
  return mean * (0.2 + 0.8 * points);
}

/** Grows with the words that count up to `minWords`; falls from `maxWords` words in all to 0 at twice as many. */
export function lengthOf(
  counted: readonly Sentence[],
  total: number,
  { minWords, maxWords }: { readonly minWords: number; readonly maxWords: number },
): number {
  const words = counted.reduce((count, sentence) => count + sentence.words.length, 0);
  return Math.min(1, words / minWords) * Math.min(1, Math.max(0, 2 - total / maxWords));
}

/** The features of form, from the sentences that count; `all` is how many there are, `opposing` what was heard. */
export function formOf(
  counted: readonly Sentence[],
  all: number,
  opposing: readonly Sentence[],
): Omit<ArgumentFeatures, "points" | "length"> {
  const reasons = new Set(counted.flatMap((sentence) => sentence.reasons));
  const evidence = new Set(counted.flatMap((sentence) => sentence.evidence));
  return {
    clarity: all === 0 ? 0 : counted.length / all,
    reasoning: Math.min(1, reasons.size / 2),
    evidence: Math.min(1, evidence.size / 2),
    ...(opposing.length === 0 ? {} : { answering: counted.some((sentence) => takesUp(sentence, opposing)) ? 1 : 0 }),
  };
}

/** An answer says that it is one, and takes up two words of a sound opposing sentence without copying it. */
function takesUp(sentence: Sentence, opposing: readonly Sentence[]): boolean {
  if (!sentence.answers) return false;
  return opposing.some((heard) => isSound(heard) && shared(sentence.own, heard.own) >= 2 && !isCopy(sentence, heard));
}
