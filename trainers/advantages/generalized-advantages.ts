/** The result of {@link generalizedAdvantages}, with one entry per step of the trajectory. */
export interface ValueEstimates {
  readonly advantages: number[];
  /** A + V, the target of the critic. Never normalized. */
  readonly returns: number[];
}

/**
 * Generalized advantage estimation over one trajectory (Schulman et al. 2015, https://arxiv.org/abs/1506.02438, eq.
 * 16): delta_t = r_t + gamma V_{t+1} - V_t and A_t = delta_t + gamma lambda A_{t+1}. `rewards` and `values` have one
 * entry per step. `bootstrap` is the value after the last step: 0 if the trajectory terminated, or the critic's value
 * of the last state if it was truncated.
 */
export function generalizedAdvantages(options: {
  readonly rewards: readonly number[];
  readonly values: readonly number[];
  readonly bootstrap: number;
  /** Discount per step. */
  readonly gamma: number;
  /** 0 gives one-step temporal differences, 1 gives returns minus values. */
  readonly lambda: number;
}): ValueEstimates {
  const { rewards, values, bootstrap, gamma, lambda } = options;
  const advantages = new Array<number>(rewards.length).fill(0);
  let next = 0;
  let nextValue = bootstrap;
  for (let t = rewards.length - 1; t >= 0; t--) {
    const delta = rewards[t]! + gamma * nextValue - values[t]!;
    next = delta + gamma * lambda * next;
    advantages[t] = next;
    nextValue = values[t]!;
  }
  return { advantages, returns: advantages.map((advantage, t) => advantage + values[t]!) };
}
