import type { ModelSize } from "./model-size.ts";

/**
 * Returns the bytes of 16-bit activations that one layer keeps for the backward pass, for one token.
 *
 * Source: Korthikanti et al. 2022, "Reducing Activation Recomputation in Large Transformer Models"
 * (https://arxiv.org/abs/2205.05198), section 4.1, equation 1: s b h (34 + 5 a s / h) bytes for s b tokens, a heads and
 * the width h. That counts dropout masks, full attention scores, and a feed-forward layer of 4 h without a gate. Here
 * there is no dropout (2 h and 3 a s less), and the widths are those of the model. `attention: "scores"` keeps the
 * outputs of the softmax. `flash` keeps one float32 per head instead (Dao et al. 2022,
 * https://arxiv.org/abs/2205.14135).
 */
export function layerActivationBytes(
  size: ModelSize,
  options: { readonly length: number; readonly attention: "scores" | "flash" },
): number {
  const { hiddenSize, queryWidth, keyValueWidth, unitWidth, heads, gated } = size;
  const norms = 2 * hiddenSize;
  const attention = hiddenSize + 2 * queryWidth + 2 * keyValueWidth;
  const unit = hiddenSize + (gated ? 4 : 2) * unitWidth;
  const scores = options.attention === "flash" ? 4 * heads : 2 * heads * options.length;
  return 2 * (norms + attention + unit) + scores;
}

/**
 * Returns the bytes of 16-bit activations of a whole model for a micro-batch. With `recompute`, only the input of each
 * layer is kept (2 h per token, Korthikanti et al. 2022, section 5), and one layer is computed again at a time.
 */
export function activationBytes(
  size: ModelSize,
  options: {
    readonly tokens: number;
    readonly length: number;
    readonly recompute: boolean;
    readonly attention: "scores" | "flash";
  },
): number {
  const { tokens, recompute } = options;
  const layer = layerActivationBytes(size, options);
  return tokens * (recompute ? 2 * size.layers * size.hiddenSize + layer : size.layers * layer);
}
