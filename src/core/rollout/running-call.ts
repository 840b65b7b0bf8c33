import { AsyncLocalStorage } from "node:async_hooks";

/** A call of an environment. */
export interface RunningCall {
  readonly environment: string;
  readonly call: string;
  readonly task?: string;
  readonly turn?: number;
  /** How long it may take. */
  readonly limitMs: number;
}

const calls = new AsyncLocalStorage<RunningCall>();

/** Starts a call; code that it runs, now and after whatever it waits for, sees it as the running one. */
export function startCall<T>(call: RunningCall, start: () => T): T {
  return calls.run(call, start);
}

/** The call of an environment that this code runs in. */
export function runningCall(): RunningCall | undefined {
  return calls.getStore();
}
