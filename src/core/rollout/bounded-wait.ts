import { LyceumError } from "../../contract/errors/index.ts";
import { startTimer } from "./rollout-limits.ts";

/**
 * Waits for `promise` for at most `ms` milliseconds. Rejects with `timeout()` after that time, and with code `aborted`
 * if `signal` aborts. Does not depend on the promise to react to a signal. Ignores a result that comes later.
 */
export function boundedWait<T>(
  promise: Promise<T>,
  options: { readonly signal?: AbortSignal; readonly ms?: number; readonly timeout?: () => Error },
): Promise<T> {
  const { signal, ms = Infinity, timeout } = options;
  return new Promise<T>((resolve, reject) => {
    const onAbort = (): void => settle(() => reject(abortedError()));
    const timer = startTimer(ms, () => settle(() => reject(timeout?.())));
    const settle = (how: () => void): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      how();
    };
    Promise.resolve(promise).then(
      (value) => settle(() => resolve(value)),
      (error) => settle(() => reject(error)),
    );
    if (signal?.aborted) onAbort();
    else signal?.addEventListener("abort", onAbort, { once: true });
  });
}

/** Creates the error of a rollout that the caller aborted. */
export function abortedError(): LyceumError {
  return new LyceumError({
    code: "aborted",
    message: "The rollout was aborted.",
    hint: "Its events and its trace have the episodes that ended before.",
  });
}
