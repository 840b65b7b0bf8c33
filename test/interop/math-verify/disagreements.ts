import type { PairWithKind } from "./pairs.ts";

/** A class of pairs with different verdicts, and which verdict is right. */
export interface Disagreement {
  readonly class: string;
  readonly right: "ours" | "math-verify";
  readonly because: string;
  /** `answer` is the content of the box. */
  readonly holds: (pair: PairWithKind, answer: string) => boolean;
}

const isRelation = (text: string): boolean => /[<>≤≥]|\\[lg]e/.test(text.replace(/\\left/g, ""));
const isInterval = (text: string): boolean => /^(?:x \\in )?[([].*[)\]]$/.test(text);
const golds = ({ gold }: PairWithKind): readonly string[] => [gold].flat();

/** Every class of disagreement, adjudicated. The first one that matches is a pair's class. */
export const disagreements: readonly Disagreement[] = [
  {
    class: "another unit",
    right: "ours",
    because: "math-verify takes units away, so 47 mph is 47 hours; they differ where both sides name one.",
    holds: ({ kind, equal }) => kind === "with units" && !equal,
  },
  {
    class: "a bare letter after a number",
    right: "math-verify",
    because: "263m is 263 metres, but for us a product with an unknown m: 3a must not pass for 3.",
    holds: ({ kind, gold }, answer) => kind === "with units" && [answer, gold].some((text) => /^\d+m$/.test(`${text}`)),
  },
  {
    class: "units as plain words",
    right: "ours",
    because: "math-verify reads 228 centimeters and 13.77 dollars as products of letters.",
    holds: (_pair, answer) => /\d (?:[a-z]{3,}|m\/s)$/.test(answer),
  },
  {
    class: "a degree sign",
    right: "ours",
    because: "math-verify reads 54^\\circ, not 54°.",
    holds: (_pair, answer) => answer.endsWith("°"),
  },
  {
    class: "units as quotients",
    right: "ours",
    because: "math-verify reads a plain m/s, and takes away one in \\text{} or \\mathrm{}.",
    holds: ({ kind, gold }, answer) => kind === "with units" && /m\/s/.test(`${gold} ${answer}`),
  },
  {
    class: "an inequality and its interval",
    right: "ours",
    because: "x > 5 is (5, \\infty); math-verify says so only with allow_set_relation_comp.",
    holds: (pair, answer) =>
      golds(pair).some((gold) => (isRelation(answer) && isInterval(gold)) || (isInterval(answer) && isRelation(gold))),
  },
  {
    class: "a multiple of an inequality",
    right: "ours",
    because: "2y < 4x is y < 2x; math-verify compares the sides.",
    holds: ({ kind }, answer) => kind === "inequalities" && answer.includes("y"),
  },
  {
    class: "a chain of inequalities turned around",
    right: "ours",
    because: "3 > x > 1 is 1 < x < 3; math-verify compares the parts in their order.",
    holds: ({ kind }, answer) => kind === "inequalities" && /x (?:>|≥|\\ge)/.test(answer),
  },
  {
    class: "e notation",
    right: "ours",
    because: "math-verify reads 79.1e2 as a product with the number e.",
    holds: ({ kind }, answer) => kind === "numbers" && /e-?\d/.test(answer),
  },
  {
    class: "text around a number",
    right: "ours",
    because: "math-verify reads no number in \\text{46.6}, and drops 13.3\\text{ percent} and \\text{\\$}36.",
    holds: (_pair, answer) => /\\text\{[\d-]|\\text\{ percent\}|\\text\{\\\$\}/.test(answer),
  },
  {
    class: "a thin space",
    right: "ours",
    because: "math-verify does not read 1\\,128, 50\\,\\% and \\$\\,5.",
    holds: ({ gold }, answer) => `${gold} ${answer}`.includes("\\,"),
  },
  {
    class: "other boxes",
    right: "ours",
    because: "math-verify knows no \\fbox{}, and no space after \\boxed.",
    holds: ({ isReply, answer }) => isReply === true && /\\fbox|\\boxed \{/.test(answer),
  },
  {
    class: "a product of complex numbers",
    right: "ours",
    because: "math-verify does not multiply (7 + i)(4 + 7i) out.",
    holds: ({ gold }) => /i\)\(/.test(`${gold}`),
  },
  {
    class: "a last term in t",
    right: "ours",
    because: "math-verify takes the t of a last 21t away, as a unit.",
    holds: (pair, answer) => [answer, ...golds(pair)].some((text) => /\dt$/.test(text)),
  },
];
