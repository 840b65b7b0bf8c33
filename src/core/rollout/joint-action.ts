import type { Action, AgentId } from "../../contract/action.ts";
import type { Episode, TokenSequence } from "../../contract/episode.ts";
import type { ErrorData } from "../../contract/errors/index.ts";
import type { Reward } from "../../contract/reward.ts";

/** One of the G completions of one agent in a node. */
export interface TurnCandidate {
  /** Absent if the policy failed. */
  readonly action?: Action;
  /**
   * The prompt and this completion, or those of the model calls that led to the action. `mask` is 1 for what was sampled
   * in this turn only. Empty if the policy has no access to tokens.
   */
  readonly sequences: readonly TokenSequence[];
  /** The error of an action that cannot be played. */
  readonly error?: ErrorData;
}

/** One completion of each acting agent, played together. Has either a child or an episode. */
export interface JointAction {
  /** The index of each acting agent's candidate. */
  readonly choice: Readonly<Record<AgentId, number>>;
  /**
   * The rewards of this step for all agents of the environment, including those that did not act. 0 for agents without
   * a reward. Unscored for all agents if the step failed or was interrupted. The rewards of leaves include those of
   * `scoreGroup`.
   */
  readonly rewards: Readonly<Record<AgentId, Reward>>;
  /** The next turn. */
  readonly child?: JointNode;
  /** The episode of the whole path from the root, if it ends here. */
  readonly episode?: Episode;
}

/** One turn at one state of the environment. */
export interface JointNode {
  /** The step of the environment, from 0. */
  readonly turn: number;
  /** G candidates of each agent that acts here, in the order of the spec. */
  readonly agents: Readonly<Record<AgentId, readonly TurnCandidate[]>>;
  /** The joint actions of the shape: G or G^n. The last agent's index varies fastest. */
  readonly jointActions: readonly JointAction[];
  /** The joint action that `randomIndependent` continued with, if it is not among `jointActions`. */
  readonly handoffAction?: JointAction;
  /** True if the termination threshold ended paths here that could have continued. */
  readonly endedEarly: boolean;
}

/** All joint actions that were played for one task. */
export interface JointTree {
  readonly task: Episode["task"];
  readonly seed: number;
  /**
   * Absent if no agent acted, because the environment failed or ended at its reset, or a limit or an abort came first.
   */
  readonly root?: JointNode;
  /**
   * All paths from the root as ordinary episodes, depth first. `sampleIndex` is the index in this list. Paths share
   * their beginnings, so sums over episodes count shared turns several times. Paths that the shape ended are truncated
   * with the limit `shape`.
   */
  readonly episodes: readonly Episode[];
}
