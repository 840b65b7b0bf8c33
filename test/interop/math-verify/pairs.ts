import { createRandom, deriveSeed } from "../../../src/core/random/random.ts";
import type { AnswerPair, PairGenerator } from "./answer-pair.ts";
import { boxedReplies, collectionPairs, severalForms } from "./collection-pairs.ts";
import { formulaPairs } from "./formula-pairs.ts";
import { numberPairs } from "./number-pairs.ts";

const generators: Readonly<Record<string, PairGenerator>> = {
  ...numberPairs,
  ...formulaPairs,
  ...collectionPairs,
  "boxed replies": boxedReplies,
  "several forms": severalForms,
};

/** A pair with its kind. */
export interface PairWithKind extends AnswerPair {
  readonly kind: string;
}

/** This many distinct pairs, of all kinds in turn, and equal and unequal in turn. */
export function generatePairs(count: number, seed: number): PairWithKind[] {
  const kinds = Object.entries(generators);
  const pairs = new Map<string, PairWithKind>();
  for (let draw = 0; pairs.size < count; draw++) {
    const [kind, generate] = kinds[pairs.size % kinds.length]!;
    const equal = Math.floor(pairs.size / kinds.length) % 2 === 0;
    const pair = { kind, ...generate(createRandom(deriveSeed(seed, kind, draw)), equal) };
    const key = JSON.stringify([pair.answer, pair.gold]);
    if (!pairs.has(key)) pairs.set(key, pair);
  }
  return [...pairs.values()];
}
