/** True in the slow tier (`npm run test:soak`). */
export const isSlowTier: boolean = process.env.LYCEUM_TEST_TIER === "slow";

/**
 * Divides cases that several engines can run. In the slow tier, each engine runs all of them. Otherwise each case runs
 * on one engine: the first case on the first engine, the second one on the next, and so on.
 */
export function shareOf<T>(cases: readonly T[], { engine, of }: { readonly engine: number; readonly of: number }): T[] {
  return cases.filter((_, index) => isSlowTier || index % of === engine);
}

/**
 * Returns representatives of cases that take long and find faults rarely, such as trainings of every example: the first
 * one and every `every`th one after it. In the slow tier, returns all.
 */
export function sampleOf<T>(cases: readonly T[], every: number): T[] {
  return shareOf(cases, { engine: 0, of: every });
}
