/**
 * For backends: splits sequences into micro-batches of at most `maxTokens` tokens, including the padding to the longest
 * sequence of each. A sequence that is longer by itself gets its own micro-batch. Sequences of similar length are
 * grouped. `maxTokens` may depend on the length of a micro-batch's longest sequence. Returns indices into `lengths`, so
 * that results can be put back in order.
 */
export function microBatches(
  lengths: readonly number[],
  maxTokens: number | ((longest: number) => number),
): number[][] {
  const most = typeof maxTokens === "number" ? () => maxTokens : maxTokens;
  const order = [...lengths.keys()].sort((a, b) => lengths[b]! - lengths[a]! || a - b);
  const batches: number[][] = [];
  let batch: number[] = [];
  for (const index of order) {
    const longest = lengths[batch[0] ?? index]!;
    if (batch.length > 0 && longest * (batch.length + 1) > most(longest)) {
      batches.push(batch);
      batch = [];
    }
    batch.push(index);
  }
  if (batch.length > 0) batches.push(batch);
  return batches;
}
