import type { AgentId } from "../../src/contract/action.ts";
import type { Group, TokenSequence } from "../../src/contract/episode.ts";
import type { JointTree } from "../../src/core/rollout/joint-action.ts";
import type { Renderer } from "../../src/core/tokens/renderer.ts";
import type { TrainingGroup } from "../data/training-group.ts";
import type { StateTargets, TrainingSample } from "../data/training-sample.ts";

/** The episodes of one training step. */
export interface StepExperience {
  /**
   * The episodes by task, with the trained agents only. If joint actions branch, each path from the root to a leaf is
   * an episode.
   */
  readonly groups: readonly TrainingGroup[];
  /** If agents are frozen: the same episodes, including the frozen agents' records. A critic of the team reads them. */
  readonly withPartners?: readonly Group[];
  /** The trees of joint actions, if the rollout shape branches. */
  readonly trees?: readonly JointTree[];
  /** One greedy episode of each task, in the order of `groups`, if the credit has `needsGreedy`. */
  readonly greedy?: readonly Group[];
}

/** The episodes of one task. */
export interface PlayedGroup {
  readonly group: TrainingGroup;
  readonly tree?: JointTree;
  readonly greedy?: Group;
  /** The group of the task by the environment's `groupOf`. */
  readonly taskGroup?: string | undefined;
}

/** Gives credit assignment access to the models. */
export interface CreditContext {
  /** Returns the name of the learner that plays an agent. Agents that share weights have the same learner. */
  learnerOf(agent: AgentId): string;
  /** Returns the critic of an agent, or of the team. Throws if the algorithm has no critic. */
  critic(agent: AgentId): Critic;
  /**
   * Returns the log-probability of each id of each sequence under the agent's frozen reference. 0 for ids that were not
   * sampled.
   */
  referenceLogprobs(agent: AgentId, sequences: readonly TokenSequence[]): Promise<readonly Float32Array[]>;
}

/**
 * The input of a critic: a text made for it, or (the beginning of) a sampled sequence. `values` are the values that
 * were recorded while the sequence was sampled, and `weightsVersion` is the version of the weights that gave them.
 */
export type CriticInput = Pick<TokenSequence, "ids"> & Partial<Pick<TokenSequence, "values" | "weightsVersion">>;

/** A critic. It predicts the rewards that are still to come. */
export interface Critic {
  /** The name of the critic. Critics with the same name are the same model. */
  readonly name: string;
  readonly renderer: Renderer;
  /** The largest number of tokens of an input. */
  readonly maxLength: number;
  /**
   * Returns, for each sequence, the value of the state after each id. A critic that is a value head on the policy
   * reuses the `values` of a sequence if the weights have not changed since. These cover only the states in which the
   * policy acted or which ended a turn.
   */
  values(sequences: readonly CriticInput[]): Promise<readonly ArrayLike<number>[]>;
}

/** The targets of a separate critic for one input. */
export interface CriticSample extends StateTargets {
  readonly critic: string;
}

/** The result of credit assignment: what the policies and the critics learn from. */
export interface CreditResult {
  readonly samples: readonly TrainingSample[];
  /** Only if the critics are separate models. */
  readonly critics?: readonly CriticSample[];
  /** Further metrics by name, such as `critic/truncated`. */
  readonly metrics?: Readonly<Record<string, number>>;
}

/** Assigns an advantage to each sampled token. A pure function of the episodes, except for the values of the critic. */
export interface Credit {
  /** The kind of critic it uses, if any. */
  readonly critic?: CriticShape;
  /** True if the divergence from the frozen reference is subtracted from the rewards. */
  readonly needsReference?: boolean;
  /** True if greedy episodes are the baseline. */
  readonly needsGreedy?: boolean;
  /**
   * Among which episodes rewards must differ to give a gradient. `group`: those of a task. `batch`: those of the whole
   * batch, as with a critic or without a baseline. `group` by default.
   */
  readonly comparison?: "group" | "batch";
  /**
   * Returns true if the episodes of a task have a signal. By default, they have one if two episodes of an agent have
   * different rewards.
   */
  hasSignal?(played: PlayedGroup): boolean;
  assign(experience: StepExperience, context: CreditContext): CreditResult | Promise<CreditResult>;
}

/** The kind of a critic. */
export interface CriticShape {
  /** `shared`: a value head on the policy, trained with the policy's loss. `separate`: a model of its own. */
  readonly type: "shared" | "separate";
  /**
   * `learner`: the critic reads and predicts the part of one learner. `team`: that of the whole team. A shared critic
   * always belongs to one learner.
   */
  readonly scope: "learner" | "team";
  /** The learning rate of a separate critic, as a multiple of the policy's. 1 by default. */
  readonly learningRateScale?: number;
  /** How far a prediction may move from its old value before its gradient is clipped. No clipping if absent. */
  readonly clip?: number;
}
