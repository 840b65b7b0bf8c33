import type { z } from "zod";
import type { EnvironmentSpec } from "../../src/contract/environment.ts";
import type { JointShape } from "../../src/core/rollout/joint-shape.ts";
import type { Credit } from "../credit/index.ts";
import type { Loss } from "../losses/loss.ts";

/**
 * A training algorithm. It has three parts: the rollout (who acts, and how often), the credit (the advantage of each
 * token) and the loss. The update schedule sets how many optimizer steps one batch gives. The trainer does not depend
 * on any algorithm's name.
 */
export interface Algorithm {
  readonly rollout: RolloutShape;
  readonly credit: Credit;
  readonly loss: Loss;
  readonly updates: UpdateSchedule;
  /**
   * True if cut-off completions are left out of the loss. If the token limit cuts off a completion of an agent in an
   * independent episode, the whole episode is left out of that agent's loss. If joint actions branch, only the
   * completion that was cut off is left out. The rewards still count in the comparison with the others. False by
   * default.
   */
  readonly maskTruncated?: boolean;
  /** What the algorithm learns from. This decides the default learning rate. `rewards` by default. */
  readonly learnsFrom?: "demonstrations" | "preferences" | "rewards";
  /** Called before a run begins. Returns why the algorithm cannot train in an environment, or undefined if it can. */
  problemWith?(spec: EnvironmentSpec): string | undefined;
}

/** Who acts in the episodes of a batch, and how many episodes each task has. */
export interface RolloutShape {
  /** `policy`: the model in training. `demonstration`: the environment's expert. */
  readonly actor: "policy" | "demonstration";
  /** Episodes per task. If joint actions branch, completions per agent and node. */
  readonly groupSize: number;
  /** True if groups without a signal are left out. See `Credit.hasSignal`. */
  readonly dropGroupsWithoutSignal: boolean;
  /** How many more rounds of tasks are played to replace the groups that were dropped from a batch. */
  readonly resampleRounds: number;
  /** If set, an independent episode ends after the first turn whose mean reward over the agents exceeds this. */
  readonly terminationThreshold?: number;
  /** How joint actions branch. If absent, episodes are independent. */
  readonly joint?: Omit<JointShape, "groupSize">;
}

/** How a batch becomes optimizer steps: `epochs` passes over the batch, each in `minibatches` parts. */
export interface UpdateSchedule {
  readonly epochs: number;
  readonly minibatches: number;
  /**
   * Stops the updates on a batch if the KL divergence between the policy and the policy that sampled exceeds this
   * value.
   */
  readonly targetKl?: number;
  /**
   * The cap of truncated importance sampling. It corrects for a sampler that is another program than the trainer, or
   * that has older weights. Each advantage is multiplied by min(cap, exp(l - q)). Here l is the trainer's logprob
   * before the update, and q the sampler's (Yao et al. 2025, https://fengyao.notion.site/off-policy-rl). No correction
   * if absent.
   */
  readonly importanceCap?: number;
}

/** An algorithm that a config can name, with the schema of its settings. */
export interface AlgorithmDefinition {
  readonly id: string;
  readonly description: string;
  /** A strict schema. Every key has a description, and a default if one is sensible. */
  readonly settings: z.ZodObject;
  /**
   * Creates the algorithm from the values that `settings` returned for a config. The config's settings are checked
   * once, with the rest of the config. The type `never` makes every other call a type error.
   */
  create(settings: never): Algorithm;
}

/** Returns the definition of an algorithm unchanged. Infers the type of `create`'s settings from their schema. */
export function defineAlgorithm<Schema extends z.ZodObject>(definition: {
  /** The name in a config. */
  readonly id: string;
  readonly description: string;
  /** Created by `z.strictObject`. */
  readonly settings: Schema;
  readonly create: (settings: z.output<Schema>) => Algorithm;
}): AlgorithmDefinition {
  return definition;
}
