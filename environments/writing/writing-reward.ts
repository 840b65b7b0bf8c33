import { faithfulness } from "./faithfulness.ts";
import { shapeRanges, shapeTerms, type TextPair, type WritingPreset } from "./length-and-style.ts";

/** The maximum reward of each preset. In `comlrl`, 2.98 is reachable, with all kinds of transition words. */
export const greatestReward: Readonly<Record<WritingPreset, number>> = { default: 1, comlrl: 3 };

/**
 * Returns the components of a pair's reward. Their sum is the reward.
 *
 * - `default`: faithfulness has a weight of 0.6. The shape of the texts adds up to 0.4, multiplied by the faithfulness.
 * - `comlrl`: gated levels. A level counts only if all earlier levels are above 0. The source is ignored.
 */
export function writingReward(options: {
  readonly form: "tldr" | "arxiv";
  readonly preset: WritingPreset;
  readonly texts: TextPair;
  readonly source: string;
}): { readonly components: Readonly<Record<string, number>>; readonly copied: number; readonly unsupported: number } {
  const { form, preset, texts, source } = options;
  const { structure, length, uniqueWords, style } = shapeTerms(texts, shapeRanges[form], preset);
  const { value: faithful, copied, unsupported } = faithfulness(texts, source, shapeRanges[form].pairs);
  if (preset === "default") {
    // A text that is too short or too long does not count.
    const share = structure === 0 ? 0 : faithful;
    const components = {
      faithfulness: 0.6 * share,
      length: 0.15 * share * length,
      uniqueWords: 0.1 * share * uniqueWords,
      style: 0.15 * share * style,
    };
    return { components, copied, unsupported };
  }
  const levels = { structure: 0.5 * structure, length, uniqueWords: 0.5 * uniqueWords, style };
  let isOpen = true;
  const counted = Object.entries(levels).map(([name, level]) => {
    isOpen &&= level > 0;
    return [name, isOpen ? level : 0] as const;
  });
  return { components: Object.fromEntries(counted), copied, unsupported };
}
