import { LyceumError } from "../../contract/errors/index.ts";
import { startTimer } from "./rollout-limits.ts";

/**
 * Waits for `promise`, but not beyond `ms` (then rejects with `timeout()`) nor beyond the abort of `signal` (then
 * rejects with code `aborted`), whether or not what it waits for heeds a signal. A late outcome is ignored.
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

/** The error of a rollout that its caller stopped. */
export function abortedError(): LyceumError {
  return new LyceumError({
    code: "aborted",
    message: "The rollout was aborted.",
    hint: "Episodes that had ended before are in its events and in its trace.",
  });
}
