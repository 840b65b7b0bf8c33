import type { z } from "zod";
import type { AdvantageEstimator } from "../advantages/index.ts";
import type { Loss } from "../losses/loss.ts";

/**
 * A training algorithm is three named parts (who acts and how often, what an action was worth, what is minimised)
 * and how many optimizer steps one batch gives. The trainer knows no algorithm by name.
 */
export interface Algorithm {
  readonly rollout: RolloutShape;
  /** Absent: the episodes are imitated, whatever they earned. */
  readonly advantage?: AdvantageEstimator;
  readonly loss: Loss;
  readonly updates: UpdateSchedule;
}

/** Who acts in the episodes of a batch, and how many there are of each task. */
export interface RolloutShape {
  /** The model being trained, or the environment's expert. */
  readonly actor: "policy" | "demonstration";
  /** Episodes per task. */
  readonly groupSize: number;
  /** Leave out groups whose scored rewards are all equal. */
  readonly dropGroupsWithoutSignal: boolean;
  /** How often more tasks are played to fill up a batch from which groups were dropped. */
  readonly resampleRounds: number;
}

/** How a batch becomes optimizer steps: `epochs` passes over it, each in `minibatches` parts. */
export interface UpdateSchedule {
  readonly epochs: number;
  readonly minibatches: number;
}

/** An algorithm that a config can name, with its settings. */
export interface AlgorithmDefinition<Settings = unknown> {
  readonly id: string;
  readonly description: string;
  /** A strict schema; every key has a description, and a default where one is sensible. */
  readonly settings: z.ZodObject;
  /** The algorithm for these settings. Throws `config.invalid` with every problem. */
  create(settings?: Settings): Algorithm;
}
