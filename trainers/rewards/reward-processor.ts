/** Changes the reward of one turn before credit is assigned. Pure. */
export interface RewardProcessor {
  /** `length` is that of the answer, in tokens. */
  (reward: number, context: { readonly length: number }): number;
  /** True if it changes turns without a reward too, which count as 0. */
  readonly everyTurn?: boolean;
}
