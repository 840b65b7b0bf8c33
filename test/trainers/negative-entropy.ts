/**
 * Returns the negative entropy of a distribution, sum p log p. Also returns its derivative with respect to each logit,
 * which is p (log p - sum p log p). `logprobs` has one entry per symbol. Their probabilities must sum to 1.
 */
export function negativeEntropy(logprobs: ArrayLike<number>): { value: number; derivatives: Float64Array } {
  let value = 0;
  const derivatives = new Float64Array(logprobs.length);
  for (let i = 0; i < logprobs.length; i++) {
    const p = Math.exp(logprobs[i]!);
    // The limit of p log p at p = 0 is 0.
    derivatives[i] = p === 0 ? 0 : p * logprobs[i]!;
    value += derivatives[i]!;
  }
  for (let i = 0; i < logprobs.length; i++) derivatives[i]! -= Math.exp(logprobs[i]!) * value;
  return { value, derivatives };
}
