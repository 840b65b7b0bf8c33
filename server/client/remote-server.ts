import type { ServedEnvironment, ServedTask } from "../session/environment-runner.ts";
import type { EnvironmentSession } from "../session/session.ts";

/** A server of environments as a client sees it, over any protocol. */
export interface RemoteServer {
  /**
   * True if a session survives a lost connection and answers a repeated step by its `stepId`. False if a session ends
   * with its connection.
   */
  readonly keepsSessions: boolean;
  /** Returns the environment of the address. */
  describe(options: { readonly signal?: AbortSignal }): Promise<RemoteDescription>;
  /** Returns the tasks from `start` up to but not including `stop`. */
  tasks(options: {
    readonly environment: string;
    readonly split: string;
    readonly start: number;
    readonly stop: number;
    readonly signal?: AbortSignal;
  }): Promise<readonly ServedTask[]>;
  /** Opens a session on a new environment instance. */
  open(options: { readonly environment: string; readonly signal?: AbortSignal }): Promise<EnvironmentSession>;
}

/** A remote environment. */
export interface RemoteDescription extends ServedEnvironment {
  /** True if the server has no tasks of its own: the seed of a reset chooses the problem. */
  readonly seedIsTask?: boolean;
}
