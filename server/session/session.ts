import type { Action, AgentId } from "../../src/contract/action.ts";
import type { Observations, StepResult } from "../../src/contract/environment.ts";
import type { Json } from "../../src/contract/json.ts";

/** The start of an episode, as a client asks for it. */
export interface SessionReset {
  /** The seed of the environment's reset. 0 by default. */
  readonly seed?: number;
  /** The client's name for the episode. A random one by default. */
  readonly episodeId?: string;
  /** The split of the task. The environment's first split by default. */
  readonly split?: string;
  /** The index of the task in the split. By default the seed chooses it: seed modulo the number of tasks. */
  readonly index?: number;
  readonly signal?: AbortSignal;
}

/** The first observations of an episode and the values that the server chose for it. */
export interface SessionEpisode {
  readonly episodeId: string;
  readonly seed: number;
  readonly split: string;
  readonly index: number;
  readonly taskId: string;
  readonly observations: Observations;
}

/** The actions of one step. */
export interface SessionStep {
  readonly actions: Readonly<Record<AgentId, Action>>;
  /**
   * The client's name for the step, unique within its episode. If the name equals that of the step before, the session
   * returns the result of that step again, so that a client can repeat a request whose answer was lost.
   */
  readonly stepId?: string;
  readonly signal?: AbortSignal;
}

/** The result of a step. `done` is true if no agent has an observation, so that the episode has ended. */
export interface SessionStepResult extends StepResult {
  readonly done: boolean;
}

/** The state of a session. */
export interface SessionState {
  /** Absent before the first reset. */
  readonly episodeId?: string;
  /** The number of steps of the episode. */
  readonly stepCount: number;
  readonly done: boolean;
  /** What the environment's own `state` returns, if it has one. */
  readonly state?: Json;
}

/**
 * One environment instance that a server runs for one client. Calls run one after another in the order in which they
 * arrive. A call that fails after its signal aborted rejects with the signal's reason, and one that fails after `close`
 * with `server.unknown-session`.
 */
export interface EnvironmentSession extends AsyncDisposable {
  /** Starts an episode, also if the one before has not ended. Throws `data.out-of-range` for an unknown task. */
  reset(options?: SessionReset): Promise<SessionEpisode>;
  /** Throws `server.invalid-request` before the first reset, after the end, and if the wrong agents act. */
  step(options: SessionStep): Promise<SessionStepResult>;
  state(): Promise<SessionState>;
  /** Frees the environment instance. A second call has no effect. */
  close(): Promise<void>;
}
