import type { Random } from "../../../src/core/random/random.ts";

/** An answer, a reference, and whether they are equal, which the generator knows. */
export interface AnswerPair {
  /** A model's text. It is in `\boxed{}` unless `isReply` is set. */
  readonly answer: string;
  /** The reference in LaTeX, or several forms that are each right. */
  readonly gold: string | readonly string[];
  readonly equal: boolean;
  /** `answer` is a whole reply with its own box. */
  readonly isReply?: boolean;
}

/** Generates a pair of one kind, equal or not. */
export type PairGenerator = (random: Random, equal: boolean) => AnswerPair;

/** A whole number between two bounds that is none of `others`. */
export function integerOtherThan(random: Random, bounds: readonly [number, number], others: readonly number[]): number {
  for (;;) {
    const found = random.integer(...bounds);
    if (!others.includes(found)) return found;
  }
}

/** A sum of terms such as `3x`, `-2` and `x^2`, without redundant signs. */
export function sum(terms: readonly string[]): string {
  const written = terms.filter((term) => term !== "");
  return written.join(" + ").replaceAll("+ -", "- ") || "0";
}

/** A coefficient before a factor: `3x`, `-x`, and an empty text for 0. */
export function times(coefficient: number, factor: string): string {
  if (coefficient === 0) return "";
  if (factor === "") return String(coefficient);
  return `${coefficient === 1 ? "" : coefficient === -1 ? "-" : coefficient}${factor}`;
}

/** The items in another order. */
export function shuffled<Item>(random: Random, items: readonly Item[]): Item[] {
  const rest = [...items];
  return items.map(() => rest.splice(random.integer(0, rest.length - 1), 1)[0]!);
}
