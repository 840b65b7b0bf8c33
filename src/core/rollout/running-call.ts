import { AsyncLocalStorage } from "node:async_hooks";

/** A call of an environment. */
export interface RunningCall {
  readonly environment: string;
  readonly call: string;
  readonly task?: string;
  readonly turn?: number;
  /** The maximum duration, in milliseconds. */
  readonly limitMs: number;
}

const calls = new AsyncLocalStorage<RunningCall>();

/** Starts a call. {@link runningCall} returns it in all code that the call runs, also asynchronously. */
export function startCall<T>(call: RunningCall, start: () => T): T {
  return calls.run(call, start);
}

/** Returns the call of an environment that the current code belongs to, if any. */
export function runningCall(): RunningCall | undefined {
  return calls.getStore();
}
