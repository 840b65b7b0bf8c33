import type { Outcome } from "./outcome.ts";
import { startTimer } from "./rollout-limits.ts";

/**
 * Something that waits for one thing at a time. An interruption (a limit, an abort) ends that wait, whether or not
 * what it waits for heeds the signal, and every later one.
 */
export class InterruptibleRun {
  readonly #controller = new AbortController();
  #interruption: Outcome | undefined;
  #rejectWait: ((reason: Outcome) => void) | undefined;
  /** Times what is waited for now. */
  #clock: NodeJS.Timeout | undefined;

  /** For everything that is waited for. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get interruption(): Outcome | undefined {
    return this.#interruption;
  }

  /** Ends it now. The first interruption counts. */
  interrupt(outcome: Outcome): void {
    if (this.#interruption !== undefined) return;
    this.#interruption = outcome;
    this.#controller.abort();
    this.#rejectWait?.(outcome);
  }

  /** Tells those that are still asked that nobody waits for them any more. */
  dismiss(): void {
    this.#controller.abort();
  }

  /** Waits for a promise, or for an interruption, which it rejects with. */
  wait<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#interruption === undefined) this.#rejectWait = reject;
      else reject(this.#interruption);
      promise.then(resolve, reject);
    });
  }

  /** Calls back once, unless it is stopped or started anew within `ms`. */
  startClock(ms: number, callback: () => void): void {
    clearTimeout(this.#clock);
    this.#clock = startTimer(ms, callback);
  }

  stopClock(): void {
    clearTimeout(this.#clock);
    this.#clock = undefined;
  }
}
