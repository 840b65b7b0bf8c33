import { mean, standardDeviation, withoutRounding } from "../../src/core/statistics.ts";

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

/** A = R, without a baseline (REINFORCE, Williams 1992, https://doi.org/10.1007/BF00992696). */
export const noBaseline: AdvantageEstimator = defineAdvantageEstimator({
  id: "none",
  estimate: (rewards) => [...rewards],
});

/** A = R - mean(R) (Dr. GRPO, Liu et al. 2025, https://arxiv.org/abs/2503.20783). */
export const groupMean: AdvantageEstimator = defineAdvantageEstimator({
  id: "group-mean",
  estimate: (given) => {
    const rewards = withoutRounding(given);
    const baseline = mean(rewards);
    return rewards.map((reward) => reward - baseline);
  },
});

/**
 * A = (R - mean(R)) / (std(R) + 1e-8), with the unbiased standard deviation. 0 for a group of one (GRPO, Shao et al.
 * 2024, https://arxiv.org/abs/2402.03300, section 4.1.2).
 */
export const groupZScore: AdvantageEstimator = defineAdvantageEstimator({
  id: "group-z-score",
  estimate: (given) => {
    const rewards = withoutRounding(given);
    const baseline = mean(rewards);
    const scale = standardDeviation(rewards) + 1e-8;
    return rewards.map((reward) => (reward - baseline) / scale);
  },
});

/**
 * A = R - mean of the other rewards = G / (G - 1) (R - mean(R)). 0 for a group of one, which has no others (RLOO,
 * Ahmadian et al. 2024, https://arxiv.org/abs/2402.14740, section 3).
 */
export const leaveOneOut: AdvantageEstimator = defineAdvantageEstimator({
  id: "leave-one-out",
  estimate: (given) => {
    const rewards = withoutRounding(given);
    if (rewards.length < 2) return rewards.map(() => 0);
    const baseline = mean(rewards);
    const factor = rewards.length / (rewards.length - 1);
    return rewards.map((reward) => factor * (reward - baseline));
  },
});

/**
 * A = R - the reward of the greedy completion of the same prompt (ReMax, Li et al. 2023,
 * https://arxiv.org/abs/2310.10505, eq. 4).
 */
export const greedyBaseline: AdvantageEstimator = defineAdvantageEstimator({
  id: "greedy-baseline",
  needsGreedy: true,
  estimate: (given, greedy = 0) => {
    const [baseline, ...rewards] = withoutRounding([greedy, ...given]);
    return rewards.map((reward) => reward - baseline!);
  },
});

/**
 * A = R - max(R), the MAREMAX of CoMLRL. No advantage is above 0, so it only lowers the probability of completions. The
 * best completion of a group has no gradient.
 */
export const groupMax: AdvantageEstimator = defineAdvantageEstimator({
  id: "group-max",
  estimate: (given) => {
    const rewards = withoutRounding(given);
    const best = rewards.reduce((most, reward) => Math.max(most, reward), Number.NEGATIVE_INFINITY);
    return rewards.map((reward) => reward - best);
  },
});
