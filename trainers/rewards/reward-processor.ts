/** Changes the reward of one turn before credit is assigned. Must be pure. */
export interface RewardProcessor {
  /** Returns the new reward. `length` is the number of tokens of the answer. */
  (reward: number, context: { readonly length: number }): number;
  /** True if it also changes turns without a reward, which count as 0. False by default. */
  readonly everyTurn?: boolean;
}
