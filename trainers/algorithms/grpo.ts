import { z } from "zod";
import { advantageEstimator, advantageEstimators } from "../advantages/index.ts";
import type { LossTerm } from "../backend/loss-term.ts";
import type { AlgorithmDefinition } from "./algorithm.ts";
import { defineAlgorithm } from "./define-algorithm.ts";
import { groupAlgorithm } from "./group-algorithm.ts";
import { type ClipSettings, clipSettings, type GroupSettings, groupSettings } from "./group-settings.ts";

const settings = z.strictObject({
  ...groupSettings({ groupSize: 8, dropGroupsWithoutSignal: true }),
  ...clipSettings({ low: 0.2, high: 0.2 }),
  advantage: z
    .enum(advantageEstimators.map(({ id }) => id))
    .default("group-z-score")
    .describe("What a reward is compared with."),
  surrogate: z
    .enum(["clipped", "ratio", "none"])
    .default("clipped")
    .describe("The policy's loss: PPO's clipped ratio, the ratio alone, or minus advantage x log-probability."),
});

/** Settings of {@link grpo}. What each means is written beside its default above. */
export interface GrpoSettings extends Partial<GroupSettings & ClipSettings> {
  readonly advantage?: string;
  readonly surrogate?: "clipped" | "ratio" | "none";
}

/**
 * Group relative policy optimization (Shao et al. 2024, https://arxiv.org/abs/2402.03300): several episodes of each
 * task, each compared with its group, and PPO's clipped loss.
 */
export const grpo: AlgorithmDefinition<GrpoSettings> = defineAlgorithm({
  id: "grpo",
  description: "Group relative policy optimization: episodes of one task compared with one another.",
  settings,
  create: ({ advantage, surrogate, clipLow, clipHigh, ...group }) => {
    const policies = {
      clipped: { type: "ppo", clipLow, clipHigh },
      ratio: { type: "importanceSampling" },
      none: { type: "policyGradient" },
    } satisfies Record<string, LossTerm>;
    return groupAlgorithm(group, { estimator: advantageEstimator(advantage), policy: policies[surrogate] });
  },
});
