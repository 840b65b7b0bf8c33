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
  /** The values of a token in one layer that the backward pass reads. It computes all others again. */
  readonly keptWidth: number;
}

/** Returns the sizes of a decoder. */
export function activationSizes(config: DecoderConfig): ActivationSizes {
  const { layers, hiddenSize, heads, keyValueHeads, headSize, linear, architecture } = config;
  const sizes = {
    layers,
    hiddenSize,
    queryWidth: heads * headSize,
    keyValueWidth: keyValueHeads * headSize,
    unitWidth: linear.mlpOutput.layers[0]!.inputs,
    gated: architecture.mlp.gated,
    heads,
  };
  return { ...sizes, keptWidth: keptWidth(config, sizes) };
}

/** Counts the inputs of norms, of attention and of the feed-forward unit, and what attention returns. */
function keptWidth(
  { activation, architecture: { attention, mlp } }: DecoderConfig,
  { hiddenSize, queryWidth, keyValueWidth, unitWidth, gated }: Omit<ActivationSizes, "keptWidth">,
): number {
  const outputNorms = [attention.outputNorm, mlp.outputNorm].filter((name) => name !== undefined).length;
  const headNorms = attention.headNorms === undefined ? 0 : queryWidth + keyValueWidth;
  // Only a gated SiLU is computed again.
  const units = gated && activation !== "silu" ? 3 : 2;
  return (2 + outputNorms) * hiddenSize + headNorms + 2 * (queryWidth + keyValueWidth) + units * unitWidth;
}

/**
 * Returns the number of blocks of nearly equal size that the embedded engine splits a length into for attention. They
 * save work in products, but each block adds a dozen operators, which dominate for short sequences. Shared prefixes are
 * skipped by whole blocks, so then there are more.
 */
export function attentionBlocks(longest: number, { shares }: { readonly shares: boolean }): number {
  if (longest < 128) return 1;
  return shares ? 8 : 4;
}

/** How often the values of a layer are in memory while its backward pass runs: themselves, and gradients by them. */
const arraysOfLayer = 3;

/** The sequences of one micro-batch. */
export interface MicroBatchShape {
  /** The number of tokens, of which several sequences can have the same one. */
  readonly tokens: number;
  readonly longest: number;
  /** For each sequence, the number of tokens at its beginning that another sequence has. */
  readonly starts: readonly number[];
  /** The number of blocks of attention. */
  readonly blocks: number;
}

/**
 * Returns the bytes that a training graph of the embedded engine needs for a micro-batch: what it keeps for its backward
 * pass, and what it computes again for one layer at a time.
 */
export function keptBytes(sizes: ActivationSizes, shape: MicroBatchShape): number {
  const { layers, keyValueWidth, keptWidth } = sizes;
  const { tokens, longest, blocks } = shape;
  // Each block of attention copies all keys and values up to its end.
  const copied = 2 * keyValueWidth * ((blockPairs(shape) * longest) / blocks);
  return 4 * (layers * tokens * keptWidth + copied) + arraysOfLayer * (computedBytes(sizes, shape) / layers);
}

/** Returns the bytes of all values of a pass, which measure its work. */
export function computedBytes(sizes: ActivationSizes, shape: MicroBatchShape): number {
  const { layers, hiddenSize, queryWidth, keyValueWidth, unitWidth, gated, heads } = sizes;
  const { tokens, longest, blocks } = shape;
  const perToken = 4 * hiddenSize + 3 * queryWidth + 2 * keyValueWidth + (gated ? 4 : 3) * unitWidth;
  return 4 * layers * (tokens * perToken + heads * (longest / blocks) ** 2 * blockPairs(shape));
}

/** Returns the number of pairs of a block of queries and a block of keys up to its end, over all sequences. */
function blockPairs({ longest, starts, blocks }: MicroBatchShape): number {
  let pairs = 0;
  for (const start of starts) {
    // A sequence skips the blocks before its start.
    const skipped = Math.floor((start * blocks) / longest);
    pairs += (blocks * (blocks + 1) - skipped * (skipped + 1)) / 2;
  }
  return pairs;
}

/** Returns the bytes per token of {@link keptBytes} for sequences of the same length that share nothing. */
export function keptBytesPerToken(sizes: ActivationSizes, length: number): number {
  const blocks = attentionBlocks(length, { shares: false });
  return keptBytes(sizes, { tokens: length, longest: length, starts: [0], blocks }) / length;
}
