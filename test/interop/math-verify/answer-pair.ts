import type { Random } from "../../../src/core/random/random.ts";

/** A reply's answer and the right one, and whether they say the same, which whoever made them knows. */
export interface AnswerPair {
  /** What a model writes; in `\boxed{}` unless `isReply`. */
  readonly answer: string;
  /** The right answer in LaTeX, or several forms that are each right. */
  readonly gold: string | readonly string[];
  readonly equal: boolean;
  /** `answer` is a whole reply with a box of its own. */
  readonly isReply?: boolean;
}

/** Makes a pair of one kind that says the same, or does not. */
export type PairGenerator = (random: Random, equal: boolean) => AnswerPair;

/** A whole number between two bounds that is none of `others`. */
export function integerOtherThan(random: Random, bounds: readonly [number, number], others: readonly number[]): number {
  for (;;) {
    const found = random.integer(...bounds);
    if (!others.includes(found)) return found;
  }
}

/** A sum of terms such as `3x`, `-2` and `x^2`, without the signs that stand for nothing. */
export function sum(terms: readonly string[]): string {
  const written = terms.filter((term) => term !== "");
  return written.join(" + ").replaceAll("+ -", "- ") || "0";
}

/** A coefficient before a factor: `3x`, `-x`, and nothing for 0. */
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
