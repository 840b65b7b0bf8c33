/** Changes the reward of one turn before credit is assigned. `length` is that of the answer, in tokens. Pure. */
export type RewardProcessor = (reward: number, context: { readonly length: number }) => number;
