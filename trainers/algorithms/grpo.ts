import { z } from "zod";
import { type AdvantageEstimator, advantageEstimators, groupMean, groupZScore } from "../advantages/index.ts";
import type { LossTerm } from "../backend/loss-term.ts";
import type { ClipRange } from "../backend/loss-values/clip-range.ts";
import { gspo as sequenceRatio } from "../losses/gspo.ts";
import type { SequenceLoss } from "../losses/sequence-loss.ts";
import { type AlgorithmDefinition, defineAlgorithm } from "./algorithm.ts";
import { groupAlgorithm } from "./group-algorithm.ts";
import { clipSettings, type GroupDefaults, groupSettings } from "./group-settings.ts";

const settings = z.strictObject({
  ...groupSettings({ groupSize: 8, dropGroupsWithoutSignal: true }),
  ...clipSettings({ low: 0.2, high: 0.2 }),
  advantage: z
    .enum(advantageEstimators.list().map(({ id }) => id))
    .default("group-z-score")
    .describe("The advantage estimator: the baseline that a reward is compared with."),
  surrogate: z
    .enum(["clipped", "ratio", "none"])
    .default("clipped")
    .describe(
      "The policy loss. clipped: PPO's clipped ratio; ratio: the ratio without clipping; none: minus advantage x log-probability.",
    ),
});

/**
 * Group relative policy optimization (Shao et al. 2024, https://arxiv.org/abs/2402.03300). GRPO plays several episodes
 * of each task and compares each with the mean of its group. It raises the probability of completions that scored above
 * the mean, with PPO's clipped loss. A group with equal rewards has no gradient and is skipped.
 */
export const grpo: AlgorithmDefinition = defineAlgorithm({
  id: "grpo",
  description: "Group relative policy optimization: the episodes of one task are compared with each other.",
  settings,
  create: ({ advantage, surrogate, clipLow, clipHigh, ...group }) => {
    const policies = {
      clipped: { type: "ppo", clipLow, clipHigh },
      ratio: { type: "importanceSampling" },
      none: { type: "policyGradient" },
    } satisfies Record<string, LossTerm>;
    return groupAlgorithm(group, { estimator: advantageEstimators.get(advantage), policy: policies[surrogate] });
  },
});

/** A variant of GRPO with a fixed estimator and a fixed policy loss over clipped ratios. */
function grpoVariant(definition: {
  readonly id: string;
  readonly description: string;
  readonly estimator?: AdvantageEstimator;
  readonly defaults?: Partial<GroupDefaults>;
  readonly clip: { readonly low: number; readonly high: number };
  readonly policy: (range: ClipRange) => LossTerm | SequenceLoss;
}): AlgorithmDefinition {
  const { id, description, estimator = groupZScore, defaults, clip, policy } = definition;
  return defineAlgorithm({
    id,
    description,
    settings: z.strictObject({ ...groupSettings({ groupSize: 8, ...defaults }), ...clipSettings(clip) }),
    create: ({ clipLow, clipHigh, ...group }) =>
      groupAlgorithm(group, { estimator, policy: policy({ clipLow, clipHigh }) }),
  });
}

/**
 * Dr. GRPO (Liu et al. 2025, https://arxiv.org/abs/2503.20783): GRPO without its two biases. Advantages are not divided
 * by the group's standard deviation. Tokens of long and short completions have the same weight.
 */
export const drGrpo: AlgorithmDefinition = grpoVariant({
  id: "dr-grpo",
  description: "GRPO that does not divide by the standard deviation or by the length.",
  estimator: groupMean,
  defaults: { lossAggregation: { fixedLength: 256 } },
  clip: { low: 0.2, high: 0.2 },
  policy: (range) => ({ type: "ppo", ...range }),
});

/**
 * DAPO (Yu et al. 2025, https://arxiv.org/abs/2503.14476). GRPO with a higher upper clip bound (clip-higher), more
 * tasks in place of groups without a signal (dynamic sampling), and a loss that is averaged over tokens.
 */
export const dapo: AlgorithmDefinition = grpoVariant({
  id: "dapo",
  description: "GRPO with a higher upper clip bound (clip-higher) and dynamic sampling.",
  defaults: { resampleRounds: 3 },
  clip: { low: 0.2, high: 0.28 },
  policy: (range) => ({ type: "ppo", ...range }),
});

/**
 * Group sequence policy optimization (Zheng et al. 2025, https://arxiv.org/abs/2507.18071). Like GRPO, with one
 * probability ratio per sequence. Its loss is averaged over sequences. `lossAggregation` applies to the other terms
 * (KL, entropy).
 */
export const gspo: AlgorithmDefinition = grpoVariant({
  id: "gspo",
  description: "GRPO with one probability ratio per sequence.",
  clip: { low: 3e-4, high: 4e-4 },
  policy: sequenceRatio,
});

/**
 * CISPO (MiniMax 2025, https://arxiv.org/abs/2506.13585, section 3.1). Like GRPO, but the clipped ratio is a constant
 * weight of the token's gradient. Tokens keep their gradient if their ratio is clipped, so rare tokens are still
 * trained.
 */
export const cispo: AlgorithmDefinition = grpoVariant({
  id: "cispo",
  description: "GRPO in which tokens with a clipped ratio keep their gradient.",
  clip: { low: 1, high: 0.28 },
  policy: (range) => ({ type: "cispo", ...range }),
});
