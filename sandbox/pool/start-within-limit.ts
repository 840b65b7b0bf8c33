import { setTimeout as sleep } from "node:timers/promises";
import { LyceumError } from "../../src/errors/index.ts";

const attempts = 2;

/**
 * Starts what may hang: an attempt that takes longer than `limitMs` is left alone, and the next one is made; what the
 * first still gives is closed. Rejects as `start` does, and with `sandbox.unavailable` after two that hang.
 */
export async function startWithinLimit<T extends AsyncDisposable>(options: {
  readonly start: () => Promise<T>;
  readonly limitMs: number;
}): Promise<T> {
  const { start, limitMs } = options;
  for (let attempt = 1; attempt <= attempts; attempt++) {
    const starting = start();
    const clock = new AbortController();
    const late = sleep(limitMs, undefined, { signal: clock.signal }).catch(() => undefined);
    try {
      const started = await Promise.race([starting, late]);
      if (started !== undefined) return started;
    } finally {
      clock.abort();
    }
    starting.then((unwanted) => unwanted[Symbol.asyncDispose]()).catch(() => undefined);
  }
  throw new LyceumError({
    code: "sandbox.unavailable",
    message: `A worker did not start within ${limitMs} ms, ${attempts} times.`,
    hint: "Look at how busy the machine and its container engine are, or choose another sandbox.",
  });
}
