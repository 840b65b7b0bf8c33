import { LyceumError } from "../src/contract/errors/index.ts";
import type { RunningCall } from "../src/core/rollout/running-call.ts";

/**
 * Returns a promise that rejects if nothing is left to do in this process: no timer, no file, no connection. What a command
 * then waits for never happens, and Node would end without an error. `open` returns the calls of the user's code that have
 * not settled.
 */
export function unsettledCall(open: () => readonly RunningCall[]): Disposable & { readonly rejected: Promise<never> } {
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => {});
  const listener = (): void => {
    const calls = open().map(({ subject, call }) => `${subject}, ${call}`);
    const what = calls.length === 0 ? "The command" : [...new Set(calls)].join("; ");
    reject(
      new LyceumError({
        code: "environment.failed",
        message: `${what} waits for a promise that never settles, and nothing else is left to do.`,
        hint: "Look for an await of a promise that nothing resolves, such as at the top level of a module.",
      }),
    );
  };
  process.once("beforeExit", listener);
  return { rejected: promise, [Symbol.dispose]: () => void process.off("beforeExit", listener) };
}
