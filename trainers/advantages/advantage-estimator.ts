/**
 * Turns the rewards of one group into advantages. The group has the alternatives that one agent tried at one task. An
 * advantage says how much better an alternative is than a baseline. Unscored episodes are removed from the group first.
 */
export interface AdvantageEstimator {
  readonly id: string;
  /** True if the baseline is the reward of a greedy episode of the same task. */
  readonly needsGreedy?: boolean;
  /** Returns one advantage per reward, in the same order. Must be pure. `greedy` is given if `needsGreedy` is true. */
  estimate(rewards: readonly number[], greedy?: number): number[];
}

/** Returns the estimator unchanged. Checks its type. */
export function defineAdvantageEstimator(estimator: AdvantageEstimator): AdvantageEstimator {
  return estimator;
}
