import { LyceumError } from "../src/contract/errors/index.ts";
import type { RunningCall } from "../src/core/rollout/running-call.ts";
import { callText } from "./call-board.ts";

/**
 * Returns a promise that rejects if nothing is left to do in this process: no timer, no file, no connection. What a command
 * then waits for never happens, and Node would end without an error. `open` returns the calls of the user's code that have
 * not settled.
 */
export function unsettledCall(open: () => readonly RunningCall[]): Disposable & { readonly rejected: Promise<never> } {
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => {});
  const listener = (): void => {
    const [first, ...others] = open();
    const more = others.length === 0 ? "" : ` (and ${others.length} more calls)`;
    reject(
      new LyceumError({
        code: first === undefined ? "internal" : "environment.failed",
        message:
          first === undefined
            ? "Nothing is left to do, but the command has not ended."
            : `Nothing is left to do, but a call has not ended: ${callText(first)}${more}.`,
        hint: "Look for an await of a promise that nothing resolves, or of a timer that does not keep the process alive (unref, AbortSignal.timeout).",
      }),
    );
  };
  process.once("beforeExit", listener);
  return { rejected: promise, [Symbol.dispose]: () => void process.off("beforeExit", listener) };
}
