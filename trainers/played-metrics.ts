import type { PlayedGroup } from "./credit/index.ts";
import { partRewards } from "./part-metrics.ts";
import { rolloutMetrics, withoutPolicyMetrics } from "./rollout-metrics.ts";
import type { TrainingRun } from "./training-run.ts";

/** The metrics of what a run played in one step. */
export function playedMetrics(
  { algorithm, environment }: Pick<TrainingRun, "algorithm" | "environment">,
  played: readonly PlayedGroup[],
): Record<string, number> {
  const { credit, rollout } = algorithm;
  const { partOf, spec } = environment;
  const groups = played.map(({ group }) => group);
  const branched = played.some(({ tree }) => tree !== undefined);
  const metrics = rolloutMetrics(groups, {
    rewardRange: spec.rewardRange,
    ...(partOf === undefined ? {} : { partOf }),
    // Paths of unequal length earn unequal rewards: what is compared there are the completions of a node.
    ...(branched && credit.hasSignal !== undefined
      ? { hasSignal: (_, index) => credit.hasSignal!(played[index]!) }
      : {}),
  });
  const all = { ...metrics, ...partRewards(groups, environment) };
  return rollout.actor === "demonstration" ? withoutPolicyMetrics(all) : all;
}
