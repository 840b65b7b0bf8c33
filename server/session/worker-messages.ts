import type { ErrorData } from "../../src/contract/errors/index.ts";
import type { Reward } from "../../src/contract/reward.ts";
import type { EnvironmentRunner, ServedEnvironment, ServedTask } from "./environment-runner.ts";
import type { SessionEpisode, SessionReset, SessionState, SessionStep, SessionStepResult } from "./session.ts";

/** What the main thread passes to a worker thread. */
export interface WorkerSettings {
  /** The URL of the module that opens the environments. */
  readonly module: string;
  readonly data: unknown;
  /** The time of the thread's last sign of life (`process.hrtime.bigint()`), as the only item. */
  readonly beat: BigInt64Array;
}

/** The calls that a worker thread answers. `session` is a number that the main thread chooses. */
export interface WorkerCalls {
  /** Imports the module and opens its environments. The first call. */
  start(argument: undefined): readonly ServedEnvironment[];
  open(argument: { readonly session: number; readonly environment: string }): void;
  reset(argument: SessionCall<SessionReset>): SessionEpisode;
  step(argument: SessionCall<SessionStep>): SessionStepResult;
  state(argument: { readonly session: number }): SessionState;
  close(argument: { readonly session: number }): void;
  tasks(argument: Omit<Parameters<EnvironmentRunner["tasks"]>[0], "signal">): readonly ServedTask[];
  scoreGroup(argument: Omit<Parameters<EnvironmentRunner["scoreGroup"]>[0], "signal">): readonly Reward[];
  /** Closes the sessions and the environments. The last call. */
  end(argument: undefined): void;
}

interface SessionCall<Options> {
  readonly session: number;
  readonly options: Omit<Options, "signal">;
}

/** A message from the main thread to a worker thread. */
export type WorkerRequest =
  | { readonly type: "call"; readonly id: number; readonly method: keyof WorkerCalls; readonly argument: unknown }
  | { readonly type: "abort"; readonly id: number; readonly reason: ErrorData };

/** A message from a worker thread to the main thread. Each call has one. */
export type WorkerReply =
  | { readonly type: "result"; readonly id: number; readonly result: unknown }
  | { readonly type: "error"; readonly id: number; readonly error: ErrorData };
