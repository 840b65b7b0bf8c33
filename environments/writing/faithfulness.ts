import type { TextPair } from "./shape-terms.ts";
import { contentStems, contentWords, sentencesOf, stem, wordsOf } from "./text-words.ts";

/** How far a pair of texts says what its source says, from 0 to 1. */
export interface Faithfulness {
  /** The lower of the two texts' values: one that is made up is not made good by the other. */
  readonly value: number;
  /** Numbers and names of both texts that the source does not have. */
  readonly unsupported: number;
  /** The greater share of a text that was copied, word by word. */
  readonly copied: number;
}

/** Words in a row that make a copy. */
const copyLength = 8;

/**
 * Compares a pair of texts with its source. A sentence is supported in full where the source has seven in ten of its
 * content words, and not at all at three in ten; each number or name that the source does not have halves that, and so
 * does a sentence with no function words at all. A text is worth the mean of its sentences, by their content words;
 * less where it says little of the source at all, less by what it says again in the same words, and less where more than half of it is copied in runs of eight words
 * from the source (or, by the second text, from the first).
 */
export function faithfulness([first, second]: TextPair, source: string): Faithfulness {
  const one = assess(first, source, [source]);
  const other = assess(second, source, [source, first]);
  return {
    value: Math.min(one.value, other.value),
    unsupported: one.unsupported + other.unsupported,
    copied: Math.max(one.copied, other.copied),
  };
}

function assess(text: string, source: string, originals: readonly string[]): Faithfulness {
  const known = contentStems(source);
  let [sum, weight, unsupported] = [0, 0, 0];
  for (const sentence of sentencesOf(text)) {
    const words = contentWords(sentence);
    const stems = [...contentStems(sentence)];
    const share = stems.filter((word) => known.has(word)).length / Math.max(1, stems.length);
    const strange = numbersAndNames(sentence).filter((word) => !known.has(stem(word))).length;
    const isList = words.length > 3 && words.length / wordsOf(sentence).length > 0.85;
    const support = Math.min(1, Math.max(0, (share - 0.3) / 0.4));
    sum += words.length * support * 0.5 ** (strange + (isList ? 1 : 0));
    weight += words.length;
    unsupported += strange;
  }
  const copied = copiedShare(text, originals);
  const support = weight === 0 ? 0 : sum / weight;
  const value = support * substance(text, known) * novelty(text) * Math.min(1, 2 * (1 - copied));
  return { value, unsupported, copied };
}

/**
 * 1 for a text that has eight different content words of its source (or half of a short one's) and one for every four
 * words of its own; else the share of that. Without it, function words about nothing would be faithful to everything.
 */
function substance(text: string, known: ReadonlySet<string>): number {
  const said = [...contentStems(text)].filter((word) => known.has(word)).length;
  const wanted = Math.max(1, Math.min(8, known.size / 2));
  return Math.min(1, said / wanted) * Math.min(1, (4 * said) / Math.max(1, wordsOf(text).length));
}

/** The numbers of a sentence, and its capitalised words but the first. */
function numbersAndNames(sentence: string): readonly string[] {
  const tokens = sentence.match(/\p{L}+(?:'\p{L}+)?|\d[\d,.]*/gu) ?? [];
  return tokens
    .filter((token, i) => /^\d/.test(token) || (i > 0 && /^\p{Lu}/u.test(token)))
    .flatMap((token) => contentWords(token));
}

/** The share of a text's runs of three words that it has not had before. */
function novelty(text: string): number {
  const words = wordsOf(text);
  const runs = runsOf(words, 3);
  return runs.length === 0 ? 1 : new Set(runs).size / runs.length;
}

/** The share of a text's words that lie in runs which one of the originals has too. */
function copiedShare(text: string, originals: readonly string[]): number {
  const words = wordsOf(text);
  const known = new Set(originals.flatMap((original) => runsOf(wordsOf(original), copyLength)));
  const copied = new Set<number>();
  for (const [i, run] of runsOf(words, copyLength).entries()) {
    if (known.has(run)) for (let place = i; place < i + copyLength; place++) copied.add(place);
  }
  return copied.size / Math.max(1, words.length);
}

function runsOf(words: readonly string[], length: number): readonly string[] {
  return words.slice(length - 1).map((_, i) => words.slice(i, i + length).join(" "));
}
