import { LyceumError } from "../../contract/errors/index.ts";

/**
 * Returns an unbiased estimate of pass@k: the probability that at least one of `k` answers to a problem is correct.
 * `n = samples` answers were sampled, of which `c = correct` are correct: 1 - C(n - c, k) / C(n, k) (Chen et al. 2021,
 * https://arxiv.org/abs/2107.03374). The pass@k of a benchmark is the mean over its problems. Throws `data.malformed`
 * unless all are integers, 0 <= correct <= samples and 1 <= k <= samples.
 */
export function estimatePassAtK(options: {
  readonly samples: number;
  readonly correct: number;
  readonly k: number;
}): number {
  checkCounts(options, "pass@k");
  const { samples, correct, k } = options;
  if (samples - correct < k) return 1;
  // The product in the order of the original harness, so that all digits are equal.
  let allWrong = 1;
  for (let n = samples - correct + 1; n <= samples; n++) allWrong *= 1 - k / n;
  return 1 - allWrong;
}

/**
 * Returns an unbiased estimate of pass^k: the probability that all of `k` answers to a problem are correct.
 * `n = samples` answers were sampled, of which `c = correct` are correct: C(c, k) / C(n, k) (Yao et al. 2024,
 * https://arxiv.org/abs/2406.12045). Throws like {@link estimatePassAtK}.
 */
export function estimatePassHatK(options: {
  readonly samples: number;
  readonly correct: number;
  readonly k: number;
}): number {
  checkCounts(options, "pass^k");
  const { samples, correct, k } = options;
  let allRight = 1;
  for (let drawn = 0; drawn < k; drawn++) allRight *= Math.max(0, correct - drawn) / (samples - drawn);
  return allRight;
}

function checkCounts(
  { samples, correct, k }: { readonly samples: number; readonly correct: number; readonly k: number },
  what: string,
): void {
  const isInRange = correct >= 0 && correct <= samples && k >= 1 && k <= samples;
  if ([samples, correct, k].every(Number.isInteger) && isInRange) return;
  throw new LyceumError({
    code: "data.malformed",
    message: `${what} with k = ${k} cannot be estimated from ${samples} samples with ${correct} correct.`,
    hint: "Take at least k samples of each problem.",
  });
}
