import { isOrdered } from "../shared/english/word-order.ts";
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
 * Compares a pair of texts with its source. A sentence counts only where its words could stand in their order in English
 * and neighbouring words of the source stand together in it, at least `pairShare` of them. It is supported in full
 * where the source has seven in ten of its content words, and not at all at three in ten; each number or name that the
 * source does not have halves that. A text is worth the mean of its sentences, by their words; less where it says little
 * of the source at all, less by what it says again in the same words, and less where more than half of it is copied in
 * runs of eight words from the source (or, by the second text, from the first).
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
 * 1 for a text that has eight different content words of its source (or half of a short one's) and one for every four
 * words of its own; else the share of that. Without it, function words about nothing would be faithful to everything.
 */
function substance(text: string, known: ReadonlySet<string>): number {
  const said = [...contentStems(text)].filter((word) => known.has(word)).length;
  const wanted = Math.max(1, Math.min(8, known.size / 2));
  return Math.min(1, said / wanted) * Math.min(1, (4 * said) / Math.max(1, wordsOf(text).length));
}

/**
 * True where a sentence says together what stands together in the source: of neighbouring content words that the source
 * has, a share of the pairs stand there in the same order at most three content words apart.
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

/** Where each content word stands in a text, as its stem. */
function placesOf(text: string): ReadonlyMap<string, readonly number[]> {
  const places = new Map<string, number[]>();
  for (const [at, word] of contentWords(text).map(stem).entries()) places.set(word, [...(places.get(word) ?? []), at]);
  return places;
}

/** The numbers of a sentence, and its capitalised words but the first, as they are written. */
function numbersAndNames(sentence: string): readonly string[] {
  return tokensOf(sentence).filter(
    (token, i) => /^\d/.test(token) || (i > 0 && /^\p{Lu}/u.test(token) && contentWords(token).length > 0),
  );
}

/** The words and numbers of a text with their capitals; numbers without thousands separators. */
function tokensOf(text: string): readonly string[] {
  const tokens = text.match(/\p{L}+(?:['\u2019]\p{L}+)?|\d[\d,.]*/gu) ?? [];
  return tokens.map((token) => (/^\d/.test(token) ? token.replace(/[.,]+$/, "").replaceAll(",", "") : token));
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
