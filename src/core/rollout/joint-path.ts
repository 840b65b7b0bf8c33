import type { AgentId } from "../../contract/action.ts";
import type { Observations } from "../../contract/environment.ts";
import type { Reward } from "../../contract/reward.ts";
import type { AgentRecorder } from "./agent-recorder.ts";
import type { Actions, EnvironmentInstance } from "./environment-instance.ts";
import type { JointAction, TurnCandidate } from "./joint-action.ts";
import type { Outcome } from "./outcome.ts";
import type { Trajectory } from "./trajectory.ts";

/** A path from the root of a tree that is being played, up to where it has come. */
export interface JointPath<Task> {
  readonly trajectory: Trajectory;
  /** The actions of each of its steps, to replay. */
  readonly history: readonly Actions[];
  /** The place among the nodes that there can be at its turn; keys the seeds of what is sampled there. */
  readonly place: number;
  /** In the state that the path has come to, unless that is to be replayed. */
  instance?: EnvironmentInstance<Task> | undefined;
  /** What came last. */
  observations: Observations;
  /** Who is to act on it. */
  acting: readonly AgentRecorder[];
  /** How it ended. A path that is played to the end has an end or a node. */
  end?: { readonly outcome: Outcome; readonly durationMs: number };
  /** Where it goes on. */
  node?: GrowingNode<Task>;
}

/** A node that is being played. */
export interface GrowingNode<Task> {
  readonly path: JointPath<Task>;
  readonly agents: ReadonlyMap<AgentId, readonly Candidate[]>;
  readonly jointActions: readonly GrowingJointAction<Task>[];
  handedOn?: GrowingJointAction<Task>;
  endedEarly: boolean;
}

/** A completion, and the record of its agent that goes on with it. */
export interface Candidate {
  readonly shown: TurnCandidate;
  readonly recorder: AgentRecorder;
}

/** A joint action that is being played. */
export interface GrowingJointAction<Task> {
  readonly choice: JointAction["choice"];
  readonly path: JointPath<Task>;
  rewards: Readonly<Record<AgentId, Reward>>;
  /** It made the environment fail, and is scored for it. */
  isBlamed?: boolean;
}
