import { setTimeout as sleep } from "node:timers/promises";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { untilAborted } from "../../src/core/concurrency/until-aborted.ts";

const attempts = 2;

/**
 * Starts something that may hang. An attempt that takes longer than `limitMs` is abandoned and a second attempt is
 * made. If an abandoned attempt succeeds later, its result is closed. Rejects as `start` does, with
 * `sandbox.unavailable` after two hanging attempts, and with the signal's reason as soon as the signal aborts, even if
 * `start` ignores it.
 */
export async function startWithinLimit<T extends AsyncDisposable>(options: {
  readonly start: (signal: AbortSignal) => Promise<T>;
  readonly limitMs: number;
  readonly signal: AbortSignal;
}): Promise<T> {
  const { start, limitMs, signal } = options;
  for (let attempt = 1; attempt <= attempts; attempt++) {
    const starting = start(signal);
    const clock = new AbortController();
    const late = sleep(limitMs, undefined, { signal: clock.signal }).catch(() => undefined);
    let started: T | undefined;
    try {
      started = await untilAborted(Promise.race([starting, late]), signal);
      if (started !== undefined) return started;
    } finally {
      clock.abort();
      if (started === undefined) starting.then((unwanted) => unwanted[Symbol.asyncDispose]()).catch(() => undefined);
    }
  }
  throw new LyceumError({
    code: "sandbox.unavailable",
    message: `A worker did not start within ${limitMs} ms, ${attempts} times.`,
    hint: "Check if the machine or its container engine is overloaded, or choose another sandbox.",
  });
}
