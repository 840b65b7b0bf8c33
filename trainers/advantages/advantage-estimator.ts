/**
 * Turns the rewards of one group (the alternatives that one agent tried at one task) into advantages: how much better
 * each was than a baseline. Unscored episodes have left the group before it is asked.
 */
export interface AdvantageEstimator {
  readonly id: string;
  /** True where the baseline is what a greedy episode of the same task earned. */
  readonly needsGreedy?: boolean;
  /** One advantage per reward, in the same order. Pure. `greedy` is given where `needsGreedy` is true. */
  estimate(rewards: readonly number[], greedy?: number): number[];
}
