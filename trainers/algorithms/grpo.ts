import { z } from "zod";
import { advantageEstimators } from "../advantages/index.ts";
import type { LossTerm } from "../backend/loss-term.ts";
import type { AlgorithmDefinition } from "./algorithm.ts";
import { defineAlgorithm } from "./define-algorithm.ts";
import { groupAlgorithm } from "./group-algorithm.ts";
import { clipSettings, groupSettings } from "./group-settings.ts";

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
