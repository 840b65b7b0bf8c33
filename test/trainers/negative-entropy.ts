/**
 * Returns the negative entropy of a distribution, sum p log p. Also returns its derivative with respect to each logit,
 * which is p (log p - sum p log p). `logprobs` has one entry per symbol. Their probabilities must sum to 1.
 */
export function negativeEntropy(logprobs: ArrayLike<number>): { value: number; derivatives: Float64Array } {
  let value = 0;
  for (let i = 0; i < logprobs.length; i++) value += plogp(logprobs[i]!);
  const derivatives = Float64Array.from({ length: logprobs.length }, (_, i) => {
    const logprob = logprobs[i]!;
    return plogp(logprob) - Math.exp(logprob) * value;
  });
  return { value, derivatives };
}

/** Returns e^l l. The limit at l = -Infinity is 0. */
function plogp(logprob: number): number {
  return logprob === Number.NEGATIVE_INFINITY ? 0 : Math.exp(logprob) * logprob;
}
