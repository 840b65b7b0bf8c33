import type { EnvironmentSpec } from "../../src/contract/environment.ts";
import type { AdvantageEstimator } from "../advantages/index.ts";
import type { LossTerm } from "../backend/loss-term.ts";
import { groupAdvantages, withKlPenalty } from "../credit/index.ts";
import type { SequenceLoss } from "../losses/sequence-loss.ts";
import type { Algorithm, UpdateSchedule } from "./algorithm.ts";
import type { DivergenceSettings, GroupSettings } from "./group-settings.ts";

/**
 * Creates an algorithm that compares the episodes of a group by an advantage estimator and minimises one policy loss.
 */
export function groupAlgorithm(
  settings: GroupSettings,
  parts: { readonly estimator: AdvantageEstimator; readonly policy: LossTerm | SequenceLoss },
): Algorithm {
  const { estimator, policy } = parts;
  const { turnStructure, jointMode, handoff, terminationThreshold, maxNodes, turnWeights } = settings;
  const branches = turnStructure !== "episodes";
  const credit = groupAdvantages({
    estimator,
    level: branches ? "turn" : settings.creditBy,
    // After a handoff, later rewards follow from one joint action of the node. They say nothing about the others.
    discount: turnStructure === "handoff" ? 0 : settings.discount,
    crossReturn: settings.crossReturn,
    terminationWeight: settings.terminationWeight,
    whiten: settings.whiten,
    turnWeights,
  });
  return {
    rollout: {
      actor: "policy",
      groupSize: settings.groupSize,
      dropGroupsWithoutSignal: settings.dropGroupsWithoutSignal,
      resampleRounds: settings.resampleRounds,
      ...(branches || jointMode === "cross"
        ? {
            joint: {
              mode: jointMode,
              turns: turnStructure === "handoff" ? "handoff" : "tree",
              ...(turnStructure === "handoff" ? { handoff } : {}),
              maxNodes,
              terminationThreshold,
            },
          }
        : {}),
    },
    credit: settings.klIn === "reward" ? withKlPenalty(credit, settings.klWeight) : credit,
    loss: {
      terms: [...("evaluate" in policy ? [] : [policy]), ...regularizers(settings)],
      aggregation: settings.lossAggregation,
      ...("evaluate" in policy ? { sequence: policy } : {}),
    },
    updates: updateSchedule(settings),
    maskTruncated: settings.maskTruncated,
    problemWith: (spec) => turnWeightsProblem(spec, turnWeights) ?? crossProblem(spec, settings),
  };
}

/**
 * Returns the loss terms for the KL divergence from the reference and for the entropy bonus. Terms of weight 0 are left
 * out.
 */
export function regularizers(settings: DivergenceSettings): LossTerm[] {
  const { klWeight, klIn, klEstimator, entropyWeight } = settings;
  return [
    ...(klWeight > 0 && klIn === "loss" ? [{ type: "kl", estimator: klEstimator, weight: klWeight } as const] : []),
    ...(entropyWeight > 0 ? [{ type: "entropy", weight: entropyWeight } as const] : []),
  ];
}

/** Returns the update schedule of the settings. Settings that are undefined are left out. */
export function updateSchedule(settings: {
  readonly epochs: number;
  readonly minibatches: number;
  readonly targetKl?: number | undefined;
  readonly importanceCap?: number | undefined;
}): UpdateSchedule {
  const { epochs, minibatches, targetKl, importanceCap } = settings;
  return { epochs, minibatches, targetKl, importanceCap };
}

function turnWeightsProblem(
  { id, maxTurns }: EnvironmentSpec,
  turnWeights: readonly number[] | undefined,
): string | undefined {
  if (turnWeights === undefined || turnWeights.length === maxTurns) return undefined;
  return `turnWeights has ${turnWeights.length} numbers, but an episode of "${id}" has up to ${maxTurns} turns`;
}

function crossProblem({ id, maxTurns }: EnvironmentSpec, settings: GroupSettings): string | undefined {
  if (settings.jointMode === "align" || settings.turnStructure !== "episodes" || maxTurns === 1) return undefined;
  return `an episode of "${id}" has up to ${maxTurns} turns, so jointMode cross needs turnStructure tree or handoff`;
}
