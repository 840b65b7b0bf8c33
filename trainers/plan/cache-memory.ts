import type { ModelSize } from "./model-size.ts";

/**
 * Returns the bytes of keys and values of one token: two vectors in each layer. Source: Pope et al. 2022, "Efficiently
 * Scaling Transformer Inference" (https://arxiv.org/abs/2211.05102), section 2.1; with grouped queries, the width is that
 * of the key-value heads (Ainslie et al. 2023, https://arxiv.org/abs/2305.13245).
 */
export function cacheBytesPerToken(
  { layers, keyValueWidth }: Pick<ModelSize, "layers" | "keyValueWidth">,
  bytesPerValue: number,
): number {
  return 2 * layers * keyValueWidth * bytesPerValue;
}
