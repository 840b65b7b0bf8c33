/** How long episodes may run in one go before timers, input and output get their turn. */
const sliceMs = 4;

/**
 * Lets the event loop breathe: episodes whose environment and policy never really wait would otherwise follow each
 * other in microtasks without end. Call `pause` where it is due, such as before each call of an environment.
 */
export class TimeSlice {
  #end = performance.now() + sliceMs;
  readonly #waiting: (() => void)[] = [];

  /**
   * A promise to await when the slice is used up, else undefined. Those who wait go on in their order, each once the one
   * before has gone as far as it can, and for one slice in a turn of the event loop: a thousand that went on together
   * would be one long turn again. Time thus decides where turns end, and never who goes on.
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
    // A tick comes once no microtask is left, so that the one before has gone as far as it can.
    if (performance.now() < this.#end) queueMicrotask(() => process.nextTick(() => this.#next()));
    else setImmediate(() => this.#begin());
  }

  #next(): void {
    if (performance.now() < this.#end) this.#goOn();
    else setImmediate(() => this.#begin());
  }
}
