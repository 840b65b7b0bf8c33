import type { AgentId } from "../../src/contract/action.ts";
import type { Group, TokenSequence } from "../../src/contract/episode.ts";
import type { JointTree } from "../../src/core/rollout/joint-action.ts";
import type { Renderer } from "../../src/core/tokens/renderer.ts";
import type { StateTargets, TrainingSample } from "../data/training-sample.ts";

/** What was played in one step. */
export interface Experience {
  /** The episodes by task, with trained agents alone; if joint actions branched, every path from the root to a leaf. */
  readonly groups: readonly Group[];
  /** If agents are frozen: the same episodes with their records too, for critics that read the whole team. */
  readonly withPartners?: readonly Group[];
  /** The branches themselves, where the rollout shape has them. */
  readonly trees?: readonly JointTree[];
  /** For estimators that ask for it: one greedy episode of each task, by its place in `groups`. */
  readonly greedy?: readonly Group[];
}

/** What was played of one task. */
export interface PlayedGroup {
  readonly group: Group;
  readonly tree?: JointTree;
  readonly greedy?: Group;
}

/** What credit assignment may ask of the models. */
export interface CreditContext {
  /** The name of the weights that play an agent; the same for agents that share them. */
  learnerOf(agent: AgentId): string;
  /** The critic of an agent, or the team's. Throws where the algorithm asked for none. */
  critic(agent: AgentId): Critic;
  /** Log-probabilities of each id of a sequence under an agent's frozen reference; 0 where it was not sampled. */
  referenceLogprobs(agent: AgentId, sequences: readonly TokenSequence[]): Promise<readonly Float32Array[]>;
}

/** What a critic reads: a text of its own, or a sequence that was sampled (or its beginning), with what was told of it. */
export type CriticInput = Pick<TokenSequence, "ids"> & Partial<Pick<TokenSequence, "values" | "weightsVersion">>;

/** Predicts what is still to be earned. */
export interface Critic {
  /** Critics of one name are one model. */
  readonly name: string;
  readonly renderer: Renderer;
  /** The most tokens that it reads. */
  readonly maxLength: number;
  /**
   * For each sequence, the value of the state after each id; of one that has `values`, at least where the policy acted
   * or ended a turn: these a critic on the policy has told while the policy sampled, and it is asked again only once its
   * weights have moved.
   */
  values(sequences: readonly CriticInput[]): Promise<readonly ArrayLike<number>[]>;
}

/** What a critic that is a model of its own has to learn. */
export interface CriticSample extends StateTargets {
  readonly critic: string;
}

/** What the policies are to learn from, and what the critics are. */
export interface Credited {
  readonly samples: readonly TrainingSample[];
  /** Only where critics are models of their own. */
  readonly critics?: readonly CriticSample[];
  /** Further metrics by name, such as `critic/truncated`. */
  readonly metrics?: Readonly<Record<string, number>>;
}

/**
 * Credit assignment: what each token that was sampled was worth. A pure function of what was played but for what it
 * asks the critic.
 */
export interface Credit {
  /** Which critic is asked, if any. */
  readonly critic?: CriticShape;
  /** True where rewards are lowered by the divergence from the frozen reference. */
  readonly needsReference?: boolean;
  /** True where it compares with greedy episodes. */
  readonly needsGreedy?: boolean;
  /**
   * Among which episodes rewards must differ to teach something: those of a task, or all of a batch, as with a critic or
   * without any baseline. `group` by default.
   */
  readonly comparison?: "group" | "batch";
  /** Whether a task's episodes say anything; by default, whether any two of an agent earned different rewards. */
  hasSignal?(played: PlayedGroup): boolean;
  assign(experience: Experience, context: CreditContext): Credited | Promise<Credited>;
}

/** What kind of critic there is. */
export interface CriticShape {
  /** A value head on the policy, trained by the policy's own loss, or a model of its own. */
  readonly type: "shared" | "separate";
  /** What is read and predicted: each learner's own part, or the whole team's. A shared critic is each learner's either way. */
  readonly scope: "learner" | "team";
  /** The learning rate of a critic that is a model of its own, as a multiple of the policy's; 1 by default. */
  readonly learningRateScale?: number;
  /** How far a prediction may move from the old one before its gradient is cut. */
  readonly clip?: number;
}
