import type { Action, AgentId } from "../../contract/action.ts";
import type { Episode, TokenSequence } from "../../contract/episode.ts";
import type { ErrorData } from "../../contract/errors/index.ts";
import type { Reward } from "../../contract/reward.ts";

/** One of the G completions of one agent in a node. */
export interface TurnCandidate {
  /** Absent where the policy failed. */
  readonly action?: Action;
  /** What the model saw and then sampled; `mask` is 1 on this completion only. Absent where the policy sees no tokens. */
  readonly sequence?: TokenSequence;
  /** Why the action cannot be played. */
  readonly error?: ErrorData;
}

/** One completion of each acting agent, played together. Has either a child or an episode. */
export interface JointAction {
  /** The index of each acting agent's candidate. */
  readonly choice: Readonly<Record<AgentId, number>>;
  /**
   * What this step earned each agent of the environment, those that did not act too; 0 where it said nothing. Unscored
   * for all where the step failed or was cut short. Rewards of `scoreGroup` are in those of leaves.
   */
  readonly rewards: Readonly<Record<AgentId, Reward>>;
  /** The next turn. */
  readonly child?: JointNode;
  /** The whole path from the root, where it ends here: how it ended, and for each agent whether by the rules. */
  readonly episode?: Episode;
}

/** One turn at one state of the environment. */
export interface JointNode {
  /** The step of the environment, from 0. */
  readonly turn: number;
  /** G candidates of each agent that acts here, in the order of the spec. */
  readonly agents: Readonly<Record<AgentId, readonly TurnCandidate[]>>;
  /** Those of the shape: G or G^n, the last agent's index running fastest. */
  readonly jointActions: readonly JointAction[];
  /** The joint action that `randomIndependent` handed on, where it is none of `jointActions`. */
  readonly handedOn?: JointAction;
  /** The threshold ended here what could have gone on. */
  readonly endedEarly: boolean;
}

/** All that was played of one task. */
export interface JointTree {
  readonly task: Episode["task"];
  readonly seed: number;
  /** Absent where nobody came to act: the environment failed or ended at its reset, or a limit or abort came first. */
  readonly root?: JointNode;
  /**
   * Every path from the root as an ordinary episode, depth first; `member` is the place in this list. Paths share their
   * beginnings, so that sums over episodes count those more than once. What the shape ended is truncated with the
   * limit `shape`.
   */
  readonly episodes: readonly Episode[];
}
