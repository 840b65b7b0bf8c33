/**
 * Minus the entropy of one whole distribution, sum p log p, and its derivative with respect to each logit:
 * p (log p - sum p log p). `logprobs` are those of every symbol, and sum to 1 as probabilities.
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

/** e^l l, with its limit 0 at l = -Infinity. */
function plogp(logprob: number): number {
  return logprob === Number.NEGATIVE_INFINITY ? 0 : Math.exp(logprob) * logprob;
}
