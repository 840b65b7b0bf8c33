import type { DecoderConfig } from "./decoder-config.ts";

/** The sizes of a decoder that the memory of its activations depends on. */
export interface ActivationSizes {
  readonly layers: number;
  readonly hiddenSize: number;
  /** The width of all queries: heads x head size. */
  readonly queryWidth: number;
  /** The width of all keys, which is also that of all values: key-value heads x head size. */
  readonly keyValueWidth: number;
  /** The width of the feed-forward unit. */
  readonly unitWidth: number;
  /** True if the unit has a gate next to its hidden layer. */
  readonly gated: boolean;
  readonly heads: number;
}

/** Returns the sizes of a decoder. */
export function activationSizes(config: DecoderConfig): ActivationSizes {
  const { layers, hiddenSize, heads, keyValueHeads, headSize, linear, architecture } = config;
  return {
    layers,
    hiddenSize,
    queryWidth: heads * headSize,
    keyValueWidth: keyValueHeads * headSize,
    unitWidth: linear.mlpOutput.layers[0]!.inputs,
    gated: architecture.mlp.gated,
    heads,
  };
}

/**
 * The length from which the embedded engine computes attention in blocks. They save work in products, but each block
 * adds a dozen operators, which dominate for short sequences.
 */
export const blockedLength = 128;

/** Returns the bytes per token that a training graph of the embedded engine keeps for its backward pass. */
export function keptBytesPerToken(sizes: ActivationSizes, length: number): number {
  const { layers, hiddenSize, queryWidth, keyValueWidth, unitWidth, gated, heads } = sizes;
  // Four blocks skip three eighths of the scores.
  const scores = heads * length * (length < blockedLength ? 1 : 0.625);
  const values = 4 * hiddenSize + 3 * queryWidth + 2 * keyValueWidth + (gated ? 4 : 3) * unitWidth + scores;
  return 4 * layers * values;
}

/**
 * The bytes of activations that the embedded engine keeps at most, if a micro-batch has more than one sequence. Larger
 * micro-batches would hardly be faster. Small models reach the maximum number of tokens first.
 */
const mostKeptBytes = 2 ** 30;

/**
 * Returns the most tokens, padding included, of a micro-batch of the embedded engine whose longest sequence has `longest`
 * tokens.
 */
export function mostTokens(
  sizes: ActivationSizes,
  { longest, maxTokens }: { readonly longest: number; readonly maxTokens: number },
): number {
  return Math.min(maxTokens, Math.floor(mostKeptBytes / keptBytesPerToken(sizes, longest)));
}
