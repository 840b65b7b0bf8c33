import { machineMemory } from "../../../src/core/machine-memory.ts";
import { type ActivationSizes, attentionBlocks, computedBytes, keptBytes } from "./kept-activations.ts";

/** The micro-batches of a pass on the embedded engine. */
export interface PassSplit {
  readonly batches: readonly MicroBatch[];
  /** True if the sequences of a micro-batch share the tokens of equal prefixes. */
  readonly shares: boolean;
}

/** Sequences that run together. */
export interface MicroBatch {
  /** Indices of the sequences. */
  readonly indices: readonly number[];
  /** The number of tokens, of which those of an equal prefix count once if it is shared. */
  readonly tokens: number;
  /** The bytes that are kept for the backward pass. */
  readonly bytes: number;
  /** A measure of the time that the micro-batch takes: see {@link computedBytes}. */
  readonly work: number;
}

/** Sequences in an order in which those with a common prefix follow each other. */
export interface PrefixOrder {
  /** Indices of the sequences. */
  readonly order: readonly number[];
  /** For each place of `order`: the number of tokens that the sequence shares with the one before it. */
  readonly shared: readonly number[];
}

/**
 * The bytes of activations that a micro-batch needs at most, if it has more than one sequence. Larger ones would hardly
 * be faster. Small models reach the maximum number of tokens first.
 */
const mostBytes = 0.6 * 2 ** 30;

/** The same where a larger micro-batch saves much work, because more sequences share a prefix in it. */
const mostSharedBytes = 1.2 * 2 ** 30;

/** The arrays that each trained parameter needs: a gradient and two moments. */
const stateArrays = 3;

/**
 * Returns the bytes of activations that a micro-batch with shared prefixes needs at most. With a large model, 1.2 GiB hold
 * few sequences of a group, and each micro-batch computes the prompt again. So a micro-batch may need as much as the
 * weights, but no more than a quarter of the memory that weights, gradient and moments leave. `memory` is that of the
 * machine by default.
 */
export function sharedActivationBytes(
  parameters: { readonly weightBytes: number; readonly trainedBytes: number },
  memory: number = machineMemory(),
): number {
  const { weightBytes, trainedBytes } = parameters;
  const left = memory - weightBytes - stateArrays * trainedBytes;
  return Math.max(mostSharedBytes, Math.min(weightBytes, left / 4));
}

/**
 * The part of the work that a split has to save over one with fewer demands. Shared tokens need more operators, and a
 * larger micro-batch more memory.
 */
const leastSaving = 1 / 8;

/**
 * Splits sequences of the given lengths into micro-batches. Each has at most `maxTokens` tokens, of which shared ones
 * count once and padding counts, and keeps a limited number of bytes. A sequence that is longer by itself gets its own
 * micro-batch. With `prefixes`, sequences with a common prefix are put together and share it if that saves enough of the
 * work, and use more memory only if that saves as much again: see {@link sharedActivationBytes}. Otherwise sequences of
 * similar lengths are put together.
 */
export function splitPass(
  lengths: readonly number[],
  options: {
    readonly sizes: ActivationSizes;
    readonly maxTokens: number;
    readonly prefixes?: PrefixOrder | undefined;
    /** The bytes that a micro-batch with shared prefixes needs at most. Default: 1.2 GiB. */
    readonly sharedBytes?: number | undefined;
  },
): PassSplit {
  const { prefixes, sharedBytes = mostSharedBytes, ...limits } = options;
  const byLength = [...lengths.keys()].sort((a, b) => lengths[b]! - lengths[a]!);
  const apart = fill(lengths, { ...limits, order: byLength, mostBytes });
  if (prefixes === undefined) return apart;
  return [...new Set([mostBytes, mostSharedBytes, sharedBytes])]
    .map((most) => fill(lengths, { ...limits, ...prefixes, mostBytes: most }))
    .reduce((best, split) => (work(split) < (1 - leastSaving) * work(best) ? split : best), apart);
}

function work({ batches }: PassSplit): number {
  return batches.reduce((sum, batch) => sum + batch.work, 0);
}

/** Fills micro-batches in an order, each as long as it is within the limits. */
function fill(
  lengths: readonly number[],
  options: {
    readonly order: readonly number[];
    readonly shared?: readonly number[];
    readonly sizes: ActivationSizes;
    readonly maxTokens: number;
    readonly mostBytes: number;
  },
): PassSplit {
  const { order, shared, sizes, maxTokens, mostBytes } = options;
  const longest = lengths.reduce((most, length) => Math.max(most, length), 0);
  const blocks = attentionBlocks(longest, { shares: shared !== undefined });
  const batches: Filled[] = [];
  for (const [place, index] of order.entries()) {
    const length = lengths[index]!;
    const last = batches.at(-1);
    const start = shared?.[place] ?? 0;
    const next = last && grown(last, { length, start, sizes, blocks });
    if (last !== undefined && next !== undefined && next.places <= maxTokens && next.bytes <= mostBytes) {
      last.indices.push(index);
      last.starts.push(start);
      Object.assign(last, next);
      continue;
    }
    const empty = { indices: [index], starts: [0], longest: length, tokens: 0, places: 0, bytes: 0, work: 0 };
    batches.push({ ...empty, ...grown({ ...empty, indices: [], starts: [] }, { length, start: 0, sizes, blocks }) });
  }
  return { batches, shares: shared !== undefined };
}

/** A micro-batch while it is filled. */
interface Filled extends MicroBatch {
  readonly indices: number[];
  /** For each sequence, the number of tokens at its beginning that the one before it has. */
  readonly starts: number[];
  readonly longest: number;
  /** Tokens with padding, of which shared ones count once. */
  readonly places: number;
}

/** Returns the measures of a micro-batch with one more sequence. */
function grown(
  batch: Filled,
  added: {
    readonly length: number;
    readonly start: number;
    readonly sizes: ActivationSizes;
    readonly blocks: number;
  },
): Pick<Filled, "longest" | "tokens" | "places" | "bytes" | "work"> {
  const { length, start, sizes, blocks } = added;
  const own = length - start;
  const longest = Math.max(batch.longest, length);
  const before = { tokens: batch.tokens, longest, starts: batch.starts, blocks };
  const isLonger = longest > batch.longest && batch.starts.length > 0;
  const alone = { tokens: own, longest, starts: [start], blocks };
  return {
    longest,
    tokens: batch.tokens + own,
    places: batch.places + (longest - batch.longest) * batch.indices.length + longest - start,
    bytes: (isLonger ? keptBytes(sizes, before) : batch.bytes) + keptBytes(sizes, alone),
    work: (isLonger ? computedBytes(sizes, before) : batch.work) + computedBytes(sizes, alone),
  };
}
