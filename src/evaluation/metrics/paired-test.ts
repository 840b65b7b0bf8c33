import { createRandom } from "../../core/random/random.ts";

/** What a paired test says of two runs on the same tasks. */
export interface PairedTest {
  /**
   * `sign`: the exact sign test over tasks that differ, which is McNemar's exact test where results are right or
   * wrong. `permutation`: signs of the differences flipped, all ways or 10,000 drawn ones.
   */
  readonly method: "sign" | "permutation";
  /** Two-sided: how likely a difference this large is where the runs do not differ. 1 where no task differs. */
  readonly p: number;
}

/** The most differences whose signs are flipped in every way. */
const exactLimit = 14;
const draws = 10_000;

/**
 * Tests the differences of two runs, task by task. The sign test where all are of one size, so that their signs are all
 * there is; else a permutation test of the mean (Fisher 1935), with a fixed seed where there are too many for all.
 */
export function pairedTest(differences: readonly number[]): PairedTest {
  const changed = differences.filter((difference) => difference !== 0);
  const size = Math.abs(changed[0] ?? 0);
  if (changed.every((difference) => Math.abs(difference) === size)) {
    return { method: "sign", p: signTest(changed.filter((difference) => difference > 0).length, changed.length) };
  }
  return { method: "permutation", p: permutationTest(changed) };
}

/** Two-sided p of `wins` among `count` fair flips: twice the smaller tail of the binomial, 1 at most. */
export function signTest(wins: number, count: number): number {
  const rarer = Math.min(wins, count - wins);
  // In logarithms: 2^-count is 0 from 1,075 flips on.
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
  // Sums of the same terms in another order may differ in the last digits.
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
  // The observed way is one of them, so that p is never 0.
  return (asLarge + 1) / (draws + 1);
}
