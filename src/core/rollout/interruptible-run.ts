import type { Outcome } from "./outcome.ts";
import { startTimer } from "./rollout-limits.ts";

/**
 * A run that waits for one promise at a time. An interruption (a limit, an abort) ends the current wait and all later
 * ones, even if the awaited operation ignores the signal.
 */
export class InterruptibleRun {
  readonly #controller = new AbortController();
  #interruption: Outcome | undefined;
  #rejectWait: ((reason: Outcome) => void) | undefined;
  /** The timer of the current wait. */
  #clock: NodeJS.Timeout | undefined;

  /** The signal for all awaited operations. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get interruption(): Outcome | undefined {
    return this.#interruption;
  }

  /** Interrupts the run. Only the first interruption has an effect. */
  interrupt(outcome: Outcome): void {
    if (this.#interruption !== undefined) return;
    this.#interruption = outcome;
    this.#controller.abort();
    this.#rejectWait?.(outcome);
  }

  /** Aborts the signal of pending operations without an interruption. */
  dismiss(): void {
    this.#controller.abort();
  }

  /** Waits for a promise. Rejects with the interruption if there is one. */
  wait<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#interruption === undefined) this.#rejectWait = reject;
      else reject(this.#interruption);
      promise.then(resolve, reject);
    });
  }

  /** Calls `callback` after `ms`. A later `startClock` or `stopClock` cancels it. */
  startClock(ms: number, callback: () => void): void {
    clearTimeout(this.#clock);
    this.#clock = startTimer(ms, callback);
  }

  stopClock(): void {
    clearTimeout(this.#clock);
    this.#clock = undefined;
  }
}
