/**
 * Turns the rewards of one group (the episodes of one task, one agent) into advantages: how much better each was than
 * a baseline. Unscored episodes have left the group before it is asked.
 */
export interface AdvantageEstimator {
  readonly id: string;
  /** One advantage per reward, in the same order. Pure. */
  estimate(rewards: readonly number[]): number[];
}
