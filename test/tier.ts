/** True in the slow tier (`npm run test:soak`). */
export const isSlowTier: boolean = process.env.LYCEUM_TEST_TIER === "slow";

/**
 * Divides cases that several engines can run. In the slow tier, each engine runs all of them. In the fast tier, each case
 * runs on one engine: the first case on the first engine, the second one on the next, and so on.
 */
export function shareOf<T>(cases: readonly T[], { engine, of }: { readonly engine: number; readonly of: number }): T[] {
  return cases.filter((_, index) => isSlowTier || index % of === engine);
}
