import { createRandom } from "../../core/random/random.ts";

/** The result of a paired test of two runs on the same tasks. */
export interface PairedTest {
  /**
   * `sign`: the exact sign test over the tasks that differ. If results are right or wrong, it is McNemar's exact test.
   * `permutation`: a permutation test that flips the signs of the differences, in all ways or in 10,000 random ones.
   */
  readonly method: "sign" | "permutation";
  /**
   * The two-sided p-value: the probability of a difference at least this large if the runs are equal. 1 without one.
   */
  readonly p: number;
}

/** The maximum number of differences for an exact permutation test. */
const exactLimit = 14;
const draws = 10_000;

/**
 * Tests the differences of two runs per task. Uses the sign test if all differences have the same size. Otherwise uses
 * a permutation test of the mean (Fisher 1935). It is exact for up to 14 differences, and random with a fixed seed
 * above.
 */
export function pairedTest(differences: readonly number[]): PairedTest {
  const changed = differences.filter((difference) => difference !== 0);
  const size = Math.abs(changed[0] ?? 0);
  if (changed.every((difference) => Math.abs(difference) === size)) {
    return { method: "sign", p: signTest(changed.filter((difference) => difference > 0).length, changed.length) };
  }
  return { method: "permutation", p: permutationTest(changed) };
}

/**
 * Returns the two-sided p-value of `wins` among `count` fair coin flips: twice the smaller tail of the binomial
 * distribution, at most 1.
 */
export function signTest(wins: number, count: number): number {
  const rarer = Math.min(wins, count - wins);
  // In logarithms, because 2^-count underflows to 0 for 1,075 flips or more.
  let logTerm = -count * Math.LN2;
  let tail = Math.exp(logTerm);
  for (let k = 1; k <= rarer; k++) {
    logTerm += Math.log((count - k + 1) / k);
    tail += Math.exp(logTerm);
  }
  return Math.min(1, 2 * tail);
}

function permutationTest(differences: readonly number[]): number {
  const observed = Math.abs(differences.reduce((total, difference) => total + difference, 0));
  // Tolerance: sums of the same terms in another order can differ in the last digits.
  const enough = observed * (1 - 1e-12);
  let asLarge = 0;
  if (differences.length <= exactLimit) {
    const ways = 2 ** differences.length;
    for (let signs = 0; signs < ways; signs++) {
      let total = 0;
      for (const [index, difference] of differences.entries()) total += (signs >> index) & 1 ? difference : -difference;
      if (Math.abs(total) >= enough) asLarge += 1;
    }
    return asLarge / ways;
  }
  const random = createRandom(0);
  for (let draw = 0; draw < draws; draw++) {
    let total = 0;
    for (const difference of differences) total += random.integer(0, 1) === 1 ? difference : -difference;
    if (Math.abs(total) >= enough) asLarge += 1;
  }
  // The observed signs count as one of the draws, so p is never 0.
  return (asLarge + 1) / (draws + 1);
}
