import type { EnvironmentSpec } from "../../src/contract/environment.ts";
import type { Json } from "../../src/contract/json.ts";
import type { Reward } from "../../src/contract/reward.ts";
import type { AnswersToScore } from "./score-answers.ts";
import type { EnvironmentSession } from "./session.ts";

/** An environment as a server describes it to its clients. */
export interface ServedEnvironment {
  /** The name in addresses. Unique within a server. */
  readonly name: string;
  readonly spec: EnvironmentSpec;
  readonly splits: readonly ServedSplit[];
  readonly version?: string;
  /** True if the environment also rewards whole groups of episodes (`scoreGroup`), which a session does not. */
  readonly scoresGroups?: boolean;
}

/** A split of a served environment. */
export interface ServedSplit {
  readonly name: string;
  readonly length: number | "unbounded";
}

/** A task as a client sees it, without the parts that only the environment may read. */
export interface ServedTask {
  readonly split: string;
  readonly index: number;
  readonly id: string;
  /** The hash of the task's content, so that a remote client derives the seeds that a local rollout derives. */
  readonly hash: string;
}

/**
 * Runs the environments of a server: in this process (`localRunner`) or in worker threads (`workerRunner`). It knows no
 * session ids, limits or protocols.
 */
export interface EnvironmentRunner extends AsyncDisposable {
  readonly environments: readonly ServedEnvironment[];
  /**
   * Creates an environment instance. Throws `config.unknown-name` for an unknown environment, and `server.closed` after
   * `close`.
   */
  open(options: { readonly environment: string; readonly signal?: AbortSignal }): Promise<EnvironmentSession>;
  /** Returns the tasks from `start` up to but not including `stop`. Throws `data.out-of-range`. */
  tasks(options: {
    readonly environment: string;
    readonly split: string;
    readonly start: number;
    readonly stop: number;
    readonly signal?: AbortSignal;
  }): Promise<readonly ServedTask[]>;
  /**
   * Scores the answers of a group of episodes by the environment's `scoreGroup`. Returns a reward for each. Throws
   * `data.out-of-range` for an unknown task.
   */
  scoreGroup(options: AnswersToScore & { readonly environment: string }): Promise<readonly Reward[]>;
  /** Returns figures of the runner for the server's metrics, such as the number of workers. */
  statistics?(): Readonly<Record<string, Json>>;
  /** Closes all sessions. A second call has no effect. */
  close(): Promise<void>;
}
