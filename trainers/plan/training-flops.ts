import type { ModelSize } from "./model-size.ts";

/**
 * Floating-point operations of transformers. Source: Kaplan et al. 2020, "Scaling Laws for Neural Language Models"
 * (https://arxiv.org/abs/2001.08361), section 2.1 and table 1: a forward pass does 2 N operations per token for N
 * weights in matrices, plus those of attention, and a backward pass twice as many. Here N counts the output head and
 * leaves out the embedding, which is a look-up.
 */

/** Returns the operations of a forward pass over one token of a sequence, without the output head. */
export function blockForwardFlops(size: ModelSize, length: number): number {
  return 2 * (size.blockWeights + size.adapter) + attentionFlops(size, length);
}

/** Returns the operations of the output head for one token, forward. */
export function headForwardFlops(size: ModelSize): number {
  return 2 * size.headWeights;
}

/**
 * Returns the operations of a forward and backward pass over one token of a sequence.
 *
 * Full training does 6 N. With a low-rank adapter, the frozen weights have no gradient of their own: 4 N, plus 6 for each
 * parameter of the adapter (Hu et al. 2021, https://arxiv.org/abs/2106.09685). A pass that computes activations again
 * (`recompute`) does the forward pass of the blocks twice. `headShare` is the share of tokens whose logits are computed.
 */
export function trainingFlops(
  size: ModelSize,
  options: { readonly length: number; readonly recompute: boolean; readonly headShare: number },
): number {
  const { length, recompute, headShare } = options;
  const full = size.adapter === 0;
  const frozenPasses = full ? 3 : 2;
  const head = headShare * frozenPasses * headForwardFlops(size);
  const blocks = frozenPasses * 2 * size.blockWeights + 3 * 2 * size.adapter + 3 * attentionFlops(size, length);
  return blocks + head + (recompute ? blockForwardFlops(size, length) : 0);
}

/**
 * Returns the operations of attention for one token, forward: 2 for each value of the scores and 2 for the weighted
 * values, over the tokens before it, which are half of the sequence on average. The sum is table 1's 2 n_layer n_ctx
 * d_attn.
 */
function attentionFlops({ layers, queryWidth }: ModelSize, length: number): number {
  return 2 * 2 * layers * queryWidth * (length / 2);
}
