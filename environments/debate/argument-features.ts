import { isCopy, isSound, type Sentence } from "./sentence.ts";
import { shared } from "./words.ts";

/** The features of one argument for the rule-based judge, each from 0 to 1. */
export type ArgumentFeatures = {
  /** The new key points of the own side, as a share of those that were due. */
  readonly points: number;
  readonly length: number;
  /** The share of sentences that count. */
  readonly clarity: number;
  readonly reasoning: number;
  readonly evidence: number;
  /** Absent if no opponent spoke before. */
  readonly answering?: number;
};

/** Returns the value of an argument: the mean of its formal features, of which a fifth counts without a key point. */
export function argumentValue({ points, ...form }: ArgumentFeatures): number {
  const parts = Object.values(form);
  const mean = parts.reduce((total, part) => total + part, 0) / parts.length;
  return mean * (0.2 + 0.8 * points);
}

/**
 * Returns a length score. It grows with the counted words up to `minWords`, and falls from `maxWords` total words to 0
 * at twice as many.
 */
export function lengthOf(
  counted: readonly Sentence[],
  total: number,
  { minWords, maxWords }: { readonly minWords: number; readonly maxWords: number },
): number {
  const words = counted.reduce((count, sentence) => count + sentence.words.length, 0);
  return Math.min(1, words / minWords) * Math.min(1, Math.max(0, 2 - total / maxWords));
}

/**
 * Returns the formal features of an argument. `counted` are the sentences that count, `all` is the total number of
 * sentences, and `opposing` are the opponents' earlier sentences.
 */
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

/**
 * Returns true if a sentence answers an opponent: it is phrased as an answer, and uses two words of a well-formed
 * opposing sentence without copying it.
 */
function takesUp(sentence: Sentence, opposing: readonly Sentence[]): boolean {
  if (!sentence.answers) return false;
  return opposing.some((heard) => isSound(heard) && shared(sentence.own, heard.own) >= 2 && !isCopy(sentence, heard));
}
