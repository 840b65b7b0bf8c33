import { isOrdered } from "../shared/english/word-order.ts";
import type { TextPair } from "./length-and-style.ts";
import { contentStems, contentWords, sentencesOf, stem, wordsOf } from "./text-words.ts";

/** How faithful a pair of texts is to its source, from 0 to 1. */
export interface Faithfulness {
  /** The lower value of the two texts, so that a good text does not compensate for an invented one. */
  readonly value: number;
  /** The number of numbers and names in both texts that are not in the source. */
  readonly unsupported: number;
  /** The larger of the two texts' shares of copied words. */
  readonly copied: number;
}

/** The minimum length of a copied run, in words. */
const copyLength = 8;

/**
 * Compares a pair of texts with its source.
 *
 * A sentence counts only if its words are in a plausible English order, and if at least `pairShare` of its pairs of
 * neighbouring content words are also close together in the source. It has full support if the source contains 70% of
 * its content words, and no support at 30%. Each number or name that is not in the source halves the support.
 *
 * The value of a text is the mean over its sentences, weighted by their length. It is lower if the text mentions little
 * of the source, if it repeats itself, and if more than half of it is copied in runs of eight words from the source,
 * or, in the second text, from the first.
 */
export function faithfulness([first, second]: TextPair, source: string, pairShare: number): Faithfulness {
  const one = assess(first, { source, originals: [source], pairShare });
  const other = assess(second, { source, originals: [source, first], pairShare });
  return {
    value: Math.min(one.value, other.value),
    unsupported: one.unsupported + other.unsupported,
    copied: Math.max(one.copied, other.copied),
  };
}

function assess(
  text: string,
  options: { readonly source: string; readonly originals: readonly string[]; readonly pairShare: number },
): Faithfulness {
  const { source, originals, pairShare } = options;
  const places = placesOf(source);
  const known = new Set(places.keys());
  const tokens = new Set(tokensOf(source));
  let [sum, weight, unsupported] = [0, 0, 0];
  for (const sentence of sentencesOf(text)) {
    const stems = [...contentStems(sentence)];
    const share = stems.filter((word) => known.has(word)).length / Math.max(1, stems.length);
    const strange = numbersAndNames(sentence).filter((token) => !tokens.has(token)).length;
    const counts = isOrdered(sentence) && isTogether(sentence, places, pairShare);
    const support = counts ? Math.min(1, Math.max(0, (share - 0.3) / 0.4)) : 0;
    const { length } = wordsOf(sentence);
    sum += length * support * 0.5 ** strange;
    weight += length;
    unsupported += strange;
  }
  const copied = copiedShare(text, originals);
  const support = weight === 0 ? 0 : sum / weight;
  const value = support * substance(text, known) * novelty(text) * Math.min(1, 2 * (1 - copied));
  return { value, unsupported, copied };
}

/**
 * Returns 1 for a text with eight distinct content words of its source (or half of a short source's) and one for every
 * four of its words. Otherwise returns a share. Without this factor, function words without content would be faithful
 * to any source.
 */
function substance(text: string, known: ReadonlySet<string>): number {
  const said = [...contentStems(text)].filter((word) => known.has(word)).length;
  const wanted = Math.max(1, Math.min(8, known.size / 2));
  return Math.min(1, said / wanted) * Math.min(1, (4 * said) / Math.max(1, wordsOf(text).length));
}

/**
 * Returns true if enough pairs of neighbouring content words of a sentence are in the same order in the source, at most
 * three content words apart. Considers only words that the source contains.
 */
function isTogether(sentence: string, places: ReadonlyMap<string, readonly number[]>, share: number): boolean {
  const words = contentWords(sentence)
    .map(stem)
    .filter((word) => places.has(word));
  const together = words.slice(1).filter((word, i) => {
    const before = places.get(words[i]!)!;
    return places.get(word)!.some((at) => before.some((earlier) => at > earlier && at - earlier <= 3));
  });
  return together.length >= Math.max(1, share * (words.length - 1));
}

/** Returns the positions of each content word in a text, by stem. */
function placesOf(text: string): ReadonlyMap<string, readonly number[]> {
  const places = new Map<string, number[]>();
  for (const [at, word] of contentWords(text).map(stem).entries()) places.set(word, [...(places.get(word) ?? []), at]);
  return places;
}

/** Returns the numbers of a sentence and its capitalised words except the first. */
function numbersAndNames(sentence: string): readonly string[] {
  return tokensOf(sentence).filter(
    (token, i) => /^\d/.test(token) || (i > 0 && /^\p{Lu}/u.test(token) && contentWords(token).length > 0),
  );
}

/** Returns the words of a text with their case, and its numbers without thousands separators. */
function tokensOf(text: string): readonly string[] {
  const tokens = text.match(/\p{L}+(?:['\u2019]\p{L}+)?|\d[\d,.]*/gu) ?? [];
  return tokens.map((token) => (/^\d/.test(token) ? token.replace(/[.,]+$/, "").replaceAll(",", "") : token));
}

/** Returns the share of distinct runs of three words in a text. */
function novelty(text: string): number {
  const words = wordsOf(text);
  const runs = runsOf(words, 3);
  return runs.length === 0 ? 1 : new Set(runs).size / runs.length;
}

/** Returns the share of a text's words in runs that one of the originals contains. */
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
