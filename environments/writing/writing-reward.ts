import { faithfulness } from "./faithfulness.ts";
import { shapeRanges, shapeTerms, type TextPair, type WritingPreset } from "./shape-terms.ts";

/** The greatest reward of each preset; of `comlrl` 2.98, with all kinds of transition. */
export const greatestReward: Readonly<Record<WritingPreset, number>> = { default: 1, comlrl: 3 };

/**
 * The named parts of a pair's reward; their sum is the reward.
 *
 * `default`: faithfulness is worth 0.6, and the shape of the texts up to 0.4 more, times faithfulness: what the source
 * does not say has no good shape. `comlrl`: gated levels, each counted only where those before it earned something, and
 * no look at the source.
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
    // A text that is too short or too long to be what was asked for.
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
