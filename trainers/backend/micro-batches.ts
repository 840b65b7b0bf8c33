/**
 * For backends: splits sequences into micro-batches of at most `maxTokens` tokens, including the padding to the longest
 * sequence of each. A sequence that is longer by itself gets its own micro-batch. Sequences of similar length are
 * grouped. Returns indices into `lengths`, so that results can be put back in order.
 */
export function microBatches(lengths: readonly number[], maxTokens: number): number[][] {
  const order = [...lengths.keys()].sort((a, b) => lengths[b]! - lengths[a]!);
  const batches: number[][] = [];
  for (const index of order) {
    const last = batches.at(-1);
    if (last !== undefined && lengths[last[0]!]! * (last.length + 1) <= maxTokens) last.push(index);
    else batches.push([index]);
  }
  return batches;
}
