import { contentWords } from "./text-words.ts";
import { countTransitionKinds } from "./transition-words.ts";

/** The two texts of an episode, in the agents' order. */
export type TextPair = readonly [first: string, second: string];

/** The required shape of a pair of texts. It is the same in training and in evaluation. */
export interface ShapeRanges {
  /** The minimum and maximum number of words of each text, split at white space. */
  readonly tokens: readonly [number, number];
  /**
   * The number of characters of the second text divided by the first's. The term is 0 outside of the outer values and 1
   * between the middle ones.
   */
  readonly length: readonly [number, number, number, number];
  /**
   * The number of distinct content words of the second text divided by the first's, with the same meaning of the four
   * values.
   */
  readonly uniqueWords: readonly [number, number, number, number];
  /** The share of common content words (Jaccard index) from which coherence is 1. */
  readonly coherence: number;
  /** The share of neighbouring words that a faithful sentence must have from one place of the source. */
  readonly pairs: number;
  /** The texts whose transition words count. */
  readonly transitionsOf: "second" | "both";
}

/** CoMLRL's ranges for a short and a detailed summary, and for the two halves of an introduction. */
export const shapeRanges: Readonly<Record<"tldr" | "arxiv", ShapeRanges>> = {
  tldr: {
    tokens: [8, 256],
    length: [1.1, 1.6, 3.2, 5],
    uniqueWords: [1.3, 2, Infinity, Infinity],
    coherence: 0.03,
    pairs: 0.5,
    transitionsOf: "second",
  },
  arxiv: {
    tokens: [128, 256],
    length: [0.8, 1.3, 1.6, 2],
    uniqueWords: [0.5, 0.7, 1.3, 1.7],
    coherence: 0.23,
    pairs: 0.25,
    transitionsOf: "both",
  },
};

/** The number of kinds of transition words that gives the full score. A summary with all twelve kinds reads badly. */
const enoughKinds = 4;

/** The shape scores of a pair of texts, each from 0 to 1. */
export interface ShapeTerms {
  readonly structure: number;
  readonly length: number;
  readonly uniqueWords: number;
  /** The weighted sum of transitions (0.4) and coherence (0.6). */
  readonly style: number;
}

/** The preset that scores a pair of texts. */
export type WritingPreset = "default" | "comlrl";

/** Returns the shape scores of a pair of texts. Stopwords count only for the length. */
export function shapeTerms([first, second]: TextPair, ranges: ShapeRanges, preset: WritingPreset): ShapeTerms {
  const [fewest, most] = ranges.tokens;
  const isLongEnough = [first, second].every((text) => {
    const tokens = text.split(/\s+/).filter((token) => token !== "").length;
    return tokens >= fewest && tokens <= most;
  });
  const [one, other] = [new Set(contentWords(first)), new Set(contentWords(second))];
  const common = [...one].filter((word) => other.has(word)).length;
  const jaccard = common === 0 ? 0 : common / (one.size + other.size - common);
  const kinds = countTransitionKinds(ranges.transitionsOf === "both" ? `${first}\n${second}` : second);
  const published = kinds === 0 ? 0 : 0.4 + 0.05 * (kinds - 1);
  const transitions = preset === "comlrl" ? published : Math.min(1, kinds / enoughKinds);
  return {
    structure: isLongEnough ? 1 : 0,
    length: trapezoid(second.length / Math.max(1, first.length), ranges.length),
    uniqueWords: trapezoid(other.size / Math.max(1, one.size), ranges.uniqueWords),
    style: 0.4 * transitions + (0.6 * Math.min(jaccard, ranges.coherence)) / ranges.coherence,
  };
}

/** Returns 0 up to `from`, rises to 1 at `full`, and falls from `end` to 0 at `none`. */
function trapezoid(value: number, [from, full, end, none]: readonly [number, number, number, number]): number {
  if (value <= from || value >= none) return 0;
  if (value < full) return (value - from) / (full - from);
  return value <= end ? 1 : (none - value) / (none - end);
}
