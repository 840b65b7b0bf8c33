/** The time that episodes run before timers, input and output are processed, in milliseconds. */
const sliceMs = 4;

/**
 * Lets the event loop process timers, input and output. Episodes whose environment and policy never wait would
 * otherwise run one after the other in microtasks and block it. Call `pause` regularly, such as before each call of an
 * environment.
 */
export class TimeSlice {
  #end = performance.now() + sliceMs;
  readonly #waiting: (() => void)[] = [];

  /**
   * Returns a promise to await if the time slice is used up, else undefined. Callers continue in the order of their
   * calls, each after the one before has no more microtasks. One turn of the event loop continues callers for one slice
   * only, because a thousand of them together would block it again. The clock therefore decides when turns end, but
   * never the order of callers.
   */
  pause(): Promise<void> | undefined {
    if (this.#waiting.length === 0 && performance.now() < this.#end) return undefined;
    return new Promise((resolve) => {
      if (this.#waiting.push(resolve) === 1) setImmediate(() => this.#begin());
    });
  }

  #begin(): void {
    this.#end = performance.now() + sliceMs;
    this.#goOn();
  }

  #goOn(): void {
    this.#waiting.shift()!();
    if (this.#waiting.length === 0) return;
    // `nextTick` in a microtask runs after all pending microtasks, so the caller before cannot continue further.
    if (performance.now() < this.#end) queueMicrotask(() => process.nextTick(() => this.#next()));
    else setImmediate(() => this.#begin());
  }

  #next(): void {
    if (performance.now() < this.#end) this.#goOn();
    else setImmediate(() => this.#begin());
  }
}
