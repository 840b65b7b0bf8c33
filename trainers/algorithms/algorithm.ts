import type { z } from "zod";
import type { EnvironmentSpec } from "../../src/contract/environment.ts";
import type { JointShape } from "../../src/core/rollout/joint-shape.ts";
import type { Credit } from "../credit/index.ts";
import type { Loss } from "../losses/loss.ts";

/**
 * A training algorithm is three named parts (who acts and how often, what each token was worth, what is minimised)
 * and how many optimizer steps one batch gives. The trainer knows no algorithm by name.
 */
export interface Algorithm {
  readonly rollout: RolloutShape;
  readonly credit: Credit;
  readonly loss: Loss;
  readonly updates: UpdateSchedule;
  /**
   * True if an episode in which the token limit cut off a completion of an agent is no part of that agent's loss; of
   * joint actions that branch, a completion that was cut off. Rewards of both are compared with the others' all the same.
   */
  readonly maskTruncated?: boolean;
  /** What it learns from, which decides the learning rate of a run that gives none; rewards if absent. */
  readonly learnsFrom?: "demonstrations" | "preferences" | "rewards";
  /** Why it cannot learn in an environment, asked before a run begins; undefined where it can. */
  problemWith?(spec: EnvironmentSpec): string | undefined;
}

/** Who acts in the episodes of a batch, and how many there are of each task. */
export interface RolloutShape {
  /** The model being trained, or the environment's expert. */
  readonly actor: "policy" | "demonstration";
  /** Episodes per task; completions per agent and node, where joint actions branch. */
  readonly groupSize: number;
  /** Leave out groups whose scored rewards are all equal. */
  readonly dropGroupsWithoutSignal: boolean;
  /** How often more tasks are played to fill up a batch from which groups were dropped. */
  readonly resampleRounds: number;
  /** Independent episodes end with the turn by which their agents earned more than this, on average. */
  readonly terminationThreshold?: number;
  /** How joint actions branch; independent episodes where absent. */
  readonly joint?: Omit<JointShape, "groupSize">;
}

/** How a batch becomes optimizer steps: `epochs` passes over it, each in `minibatches` parts. */
export interface UpdateSchedule {
  readonly epochs: number;
  readonly minibatches: number;
  /** Learn no more from a batch once the policy's divergence from the one that sampled exceeds it. */
  readonly targetKl?: number;
  /**
   * Truncated importance sampling: where the sampler is another program or older than the trainer, advantages are
   * multiplied by min(cap, exp(l - q)) with l as the trainer has it before the update
   * (Yao et al. 2025, https://fengyao.notion.site/off-policy-rl).
   */
  readonly importanceCap?: number;
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
