import { isOrdered } from "../shared/english/word-order.ts";
import { isFunctionWord, shared, stemsOf, without, wordsOf } from "./words.ts";

/** One sentence of an argument, as the rule-based judge reads it. */
export interface Sentence {
  readonly words: readonly string[];
  /** True if the words are in a plausible order. */
  readonly ordered: boolean;
  /** The subject words that are not in the proposition or background. */
  readonly own: ReadonlySet<string>;
  readonly reasons: readonly string[];
  readonly evidence: readonly string[];
  readonly answers: boolean;
}

const reasons =
  /\b(?:because|since|therefore|thus|hence|consequently|as a result|due to|leads? to|so that|it follows|th(?:is|at) means|which means)\b/g;

const evidence: Readonly<Record<string, RegExp>> = {
  source: /\b(?:stud(?:y|ies)|surveys?|research|reports?|reported|data|trials?|statistics|according to)\b/,
  example: /\b(?:for example|for instance|such as)\b/,
  number: /\d|\b(?:per ?cent|half|thirds?|quarters?|twice)\b/,
};

const answers =
  /\b(?:however|but|although|though|yet|nevertheless|even if|on the other hand|opponents?|other side|objection|overlooks?|ignores?)\b/;

/** Returns the sentences of a text. `known` are the subject words of the proposition and the background. */
export function sentencesOf(text: string, known: ReadonlySet<string>): readonly Sentence[] {
  return text
    .split(/[.!?](?=\s|$)|\n/)
    .map((part) => {
      const words = wordsOf(part);
      const plain = words.join(" ");
      return {
        words,
        ordered: isOrdered(part),
        own: without(stemsOf(words), known),
        reasons: [...new Set(plain.match(reasons))],
        evidence: Object.keys(evidence).filter((kind) => evidence[kind]!.test(plain)),
        answers: answers.test(plain),
      };
    })
    .filter(({ words }) => words.length > 0);
}

/**
 * Returns true for a well-formed sentence: 6 to 45 words in a plausible order, 20% to 70% function words, at most 8
 * consecutive subject words, no word more than three times, and at least 4 subject words of its own.
 */
export function isSound({ words, own, ordered }: Sentence): boolean {
  if (!ordered || words.length < 6 || words.length > 45 || own.size < 4) return false;
  const counts = new Map<string, number>();
  let functions = 0;
  let run = 0;
  for (const word of words) {
    const count = (counts.get(word) ?? 0) + 1;
    if (count > 3) return false;
    counts.set(word, count);
    run = isFunctionWord(word) ? 0 : run + 1;
    if (run > 8) return false;
    if (run === 0) functions++;
  }
  const share = functions / words.length;
  return share >= 0.2 && share <= 0.7;
}

/**
 * Returns true if two sentences share at least 3 of their own words, and at least 60% of those of the sentence with
 * fewer.
 */
export function isCopy(first: Sentence, second: Sentence): boolean {
  const common = shared(first.own, second.own);
  return common >= 3 && common >= 0.6 * Math.min(first.own.size, second.own.size);
}
