import type { AgentId } from "../../contract/action.ts";
import type { Observations } from "../../contract/environment.ts";
import type { ErrorData } from "../../contract/errors/index.ts";
import type { Reward } from "../../contract/reward.ts";
import type { AgentRecorder } from "./agent-recorder.ts";
import type { Actions, EnvironmentInstance } from "./environment-instance.ts";
import type { EpisodeRecorder } from "./episode-recorder.ts";
import type { JointAction, TurnCandidate } from "./joint-action.ts";
import type { Outcome } from "./outcome.ts";

/** A path from the root of a growing tree to its current state. */
export interface JointPath<Task> {
  readonly trajectory: EpisodeRecorder;
  /** The actions of all steps, for a replay. */
  readonly history: readonly Actions[];
  /** The index among all possible nodes of the turn. The sampling seeds of the node derive from it. */
  readonly place: number;
  /** An instance in the state of the path. Absent if the state must be replayed. */
  instance?: EnvironmentInstance<Task> | undefined;
  /** The last observations. */
  observations: Observations;
  /** The agents that act next. */
  acting: readonly AgentRecorder[];
  /** The end of the path. A finished path has either an end or a node. */
  end?: { readonly outcome: Outcome; readonly durationMs: number };
  /** The node that continues the path. */
  node?: GrowingNode<Task>;
}

/** A node in a growing tree. */
export interface GrowingNode<Task> {
  readonly path: JointPath<Task>;
  readonly agents: ReadonlyMap<AgentId, readonly Candidate[]>;
  readonly jointActions: readonly GrowingJointAction<Task>[];
  handoffAction?: GrowingJointAction<Task>;
  endedEarly: boolean;
}

/** A completion, and the record of its agent with it. */
export interface Candidate {
  /** The failure of the agent's own program that its model's answers caused. */
  readonly failure?: ErrorData;
  readonly shown: TurnCandidate;
  readonly recorder: AgentRecorder;
}

/** A joint action in a growing tree. */
export interface GrowingJointAction<Task> {
  readonly choice: JointAction["choice"];
  readonly path: JointPath<Task>;
  rewards: Readonly<Record<AgentId, Reward>>;
  /** True if it made the environment fail and has the lowest reward for it. */
  isBlamed?: boolean;
}
