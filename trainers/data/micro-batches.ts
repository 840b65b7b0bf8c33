/**
 * Parts of a list of sequences such that none is larger than `maxTokens` once its sequences are padded to the longest
 * of it; a sequence that is longer by itself stands alone. Sequences of like length come together. Holds indices,
 * so that results can be put back in order.
 */
export function microBatches(lengths: readonly number[], maxTokens: number): number[][] {
  const order = [...lengths.keys()].sort((a, b) => lengths[b]! - lengths[a]! || a - b);
  const batches: number[][] = [];
  let batch: number[] = [];
  for (const index of order) {
    const longest = lengths[batch[0] ?? index]!;
    if (batch.length > 0 && longest * (batch.length + 1) > maxTokens) {
      batches.push(batch);
      batch = [];
    }
    batch.push(index);
  }
  if (batch.length > 0) batches.push(batch);
  return batches;
}
