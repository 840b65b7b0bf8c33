import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { invalidConfig } from "../../src/contract/errors/index.ts";
import type { Algorithm } from "../algorithms/index.ts";
import type { TrainingConfig } from "../config/training-config.ts";
import type { RewardProcessorConfig } from "../rewards/reward-processor-config.ts";

/**
 * Throws `config.invalid`, with the key, for a config that can never train anything: all rewards are equal, or the
 * model can sample one token only. If only the episodes show that nothing is learnt, the run warns at its end.
 */
export function checkLearnable(
  algorithm: Pick<Algorithm, "rollout" | "learnsFrom">,
  options: {
    readonly environment: Pick<EnvironmentDefinition, "spec" | "demonstratesPairs">;
    readonly config: Pick<TrainingConfig, "rewards" | "sampling">;
  },
): void {
  const { environment, config } = options;
  const { learnsFrom = "rewards", rollout } = algorithm;
  if (learnsFrom !== "demonstrations") checkRewards(config.rewards);
  if (rollout.actor !== "policy") return;
  if (learnsFrom === "preferences" && environment.demonstratesPairs === true) {
    throw invalidConfig(
      `algorithm.source is policy, but the environment "${environment.spec.id}" rewards only recorded answers, so that ` +
        "the answers of the policy make no pairs to learn from.",
      "Set algorithm.source: demonstrations. The recorded answers are then the pairs.",
      { key: "algorithm.source" },
    );
  }
  const { topK, minP } = config.sampling;
  const greedy = topK === 1 ? "topK" : minP === 1 ? "minP" : undefined;
  if (greedy === undefined) return;
  throw invalidConfig(
    `sampling.${greedy} is 1, so that the likeliest token is always sampled: there is no choice to learn from.`,
    `Remove sampling.${greedy}, or ${greedy === "topK" ? "raise" : "lower"} it.`,
    { key: `sampling.${greedy}` },
  );
}

/** Throws if the processors make all rewards equal. */
function checkRewards(processors: readonly RewardProcessorConfig[]): void {
  // These depend on more than the reward.
  const differs = ({ type }: RewardProcessorConfig): boolean =>
    type === "normalize-by-length" || type === "overlong-penalty";
  for (const [i, processor] of processors.entries()) {
    const constant =
      processor.type === "scale" && processor.factor === 0
        ? "factor is 0"
        : processor.type === "clamp" && processor.minimum >= processor.maximum
          ? `minimum is ${processor.minimum} and its maximum ${processor.maximum}`
          : undefined;
    if (constant === undefined || processors.slice(i + 1).some(differs)) continue;
    throw invalidConfig(
      `rewards[${i}] (${processor.type}) makes all rewards equal: its ${constant}. There is nothing to learn from.`,
      `Change or remove rewards[${i}].`,
      { key: `rewards[${i}]` },
    );
  }
}
