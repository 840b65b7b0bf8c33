import type { PrefixOrder } from "../../../model-folders/architecture/split-pass.ts";

/**
 * Orders sequences of token ids by the tree of their prefixes. The sequence before another one has the longest common
 * prefix with it among all earlier ones. Of the branches of a node, that with the longest sequence comes first. A
 * sequence keeps its last token for itself, so that each has a token of its own.
 */
export function prefixOrder(sequences: readonly ArrayLike<number>[]): PrefixOrder {
  const sorted = [...sequences.keys()].sort((a, b) => compare(sequences[a]!, sequences[b]!) || a - b);
  const common = sorted.map((index, i) => (i === 0 ? 0 : commonLength(sequences[sorted[i - 1]!]!, sequences[index]!)));
  const order = branches({ sorted, common, lengths: sequences.map(({ length }) => length) });
  const shared = order.map((index, i) => {
    const sequence = sequences[index]!;
    return i === 0 ? 0 : Math.max(0, Math.min(commonLength(sequences[order[i - 1]!]!, sequence), sequence.length - 1));
  });
  return { order, shared };
}

/** Returns sorted sequences with the longest branch of each node first. `common` are the prefixes shared with the one before. */
function branches(options: {
  readonly sorted: readonly number[];
  readonly common: readonly number[];
  readonly lengths: readonly number[];
}): number[] {
  const { sorted, common, lengths } = options;
  const arrange = (start: number, end: number): number[] => {
    if (end - start === 1) return [sorted[start]!];
    const least = common.slice(start + 1, end).reduce((a, b) => Math.min(a, b));
    const starts = [start];
    for (let i = start + 1; i < end; i++) if (common[i] === least) starts.push(i);
    const parts = starts.map((first, i) => arrange(first, starts[i + 1] ?? end));
    const longest = new Map(parts.map((part) => [part, part.reduce((most, i) => Math.max(most, lengths[i]!), 0)]));
    return parts.sort((a, b) => longest.get(b)! - longest.get(a)!).flat();
  };
  return sorted.length === 0 ? [] : arrange(0, sorted.length);
}

function compare(a: ArrayLike<number>, b: ArrayLike<number>): number {
  const common = commonLength(a, b);
  if (common === a.length || common === b.length) return a.length - b.length;
  return a[common]! - b[common]!;
}

function commonLength(a: ArrayLike<number>, b: ArrayLike<number>): number {
  const most = Math.min(a.length, b.length);
  let length = 0;
  while (length < most && a[length] === b[length]) length++;
  return length;
}

/** The distinct tokens of several sequences. Tokens of equal prefixes are one token. */
export interface DistinctTokens {
  /** The token at each place of each sequence. */
  readonly tokenOf: readonly Int32Array[];
  /** For each sequence, the number of tokens at its beginning that belong to another sequence. At least one does not. */
  readonly starts: readonly number[];
  /** The number of distinct tokens. */
  readonly tokens: number;
  /** The number of tokens in more than one sequence. They are the first ones. */
  readonly shared: number;
  /** The largest number of sequences with the same token. */
  readonly copies: number;
}

/**
 * Merges the tokens of equal prefixes. Causal attention gives them equal hidden states. Each token is at the same index
 * in all of its sequences.
 */
export function mergePrefixes(sequences: readonly ArrayLike<number>[]): DistinctTokens {
  const { order, shared } = prefixOrder(sequences);
  const tokenOf = new Array<Int32Array>(sequences.length);
  const starts = new Array<number>(sequences.length).fill(0);
  const counts: number[] = [];
  for (const [i, index] of order.entries()) {
    const tokens = new Int32Array(sequences[index]!.length);
    if (shared[i]! > 0) tokens.set(tokenOf[order[i - 1]!]!.subarray(0, shared[i]));
    for (let place = shared[i]!; place < tokens.length; place++) tokens[place] = counts.push(0) - 1;
    for (const token of tokens) counts[token]!++;
    tokenOf[index] = tokens;
    starts[index] = shared[i]!;
  }
  // Shared tokens first, both parts in the order in which sequences begin.
  const byCount = [...counts.keys()].sort((a, b) => Number(counts[a] === 1) - Number(counts[b] === 1) || a - b);
  const renumbered = new Int32Array(counts.length);
  for (const [place, token] of byCount.entries()) renumbered[token] = place;
  return {
    tokenOf: tokenOf.map((tokens) => tokens.map((token) => renumbered[token]!)),
    starts,
    tokens: counts.length,
    shared: counts.filter((count) => count > 1).length,
    copies: counts.reduce((a, b) => Math.max(a, b), 1),
  };
}
