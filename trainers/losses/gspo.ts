import type { ClipRange } from "../backend/loss-values/clip-range.ts";
import { isClipped } from "../backend/loss-values/clip-range.ts";
import type { SequenceLoss } from "./sequence-loss.ts";

/**
 * Group sequence policy optimization (Zheng et al. 2025, https://arxiv.org/abs/2507.18071, eq. 5 to 7): PPO's clipped
 * loss with one ratio per sequence, s = exp(mean of l - q over its tokens). The derivative of -s A with respect to each
 * of the n logprobs is -s A / n. It is 0 if the ratio is clipped.
 */
export function gspo(range: ClipRange): SequenceLoss {
  return {
    id: "gspo",
    needsReference: false,
    evaluate: ({ data, logprobs }) => {
      let value = 0;
      let clipped = 0;
      let sequences = 0;
      const derivatives = data.map((datum, i) => {
        const { lossMask, advantages, behaviourLogprobs = logprobs[i]! } = datum;
        const tokens = [...lossMask.keys()].filter((t) => lossMask[t] !== 0);
        const derivative = new Float32Array(lossMask.length);
        if (tokens.length === 0) return derivative;
        sequences += 1;
        const advantage = tokens.reduce((sum, t) => sum + (advantages?.[t] ?? 0), 0) / tokens.length;
        const distance = tokens.reduce((sum, t) => sum + logprobs[i]![t]! - behaviourLogprobs[t]!, 0) / tokens.length;
        const ratio = Math.exp(distance);
        if (isClipped(ratio, advantage, range)) {
          clipped += 1;
          value -= (advantage > 0 ? 1 + range.clipHigh : 1 - range.clipLow) * advantage;
          return derivative;
        }
        value -= ratio * advantage;
        for (const t of tokens) derivative[t] = (-ratio * advantage) / tokens.length;
        return derivative;
      });
      const metrics: Record<string, number> = sequences === 0 ? {} : { "ratio/clip-fraction": clipped / sequences };
      return { value, derivatives, metrics };
    },
  };
}
