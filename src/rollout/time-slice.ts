/** How long episodes may run in one go before timers, input and output get their turn. */
const sliceMs = 4;

/**
 * Lets the event loop breathe: episodes whose environment and policy never really wait would otherwise follow each
 * other in microtasks without end. Call `pause` where it is due.
 */
export class TimeSlice {
  #end = performance.now() + sliceMs;
  #pause: Promise<void> | undefined;

  /** A promise to await when the slice is used up, else undefined. All who ask get the same one. */
  pause(): Promise<void> | undefined {
    if (this.#pause === undefined && performance.now() >= this.#end) {
      this.#pause = new Promise((resolve) => {
        setImmediate(() => {
          this.#end = performance.now() + sliceMs;
          this.#pause = undefined;
          resolve();
        });
      });
    }
    return this.#pause;
  }
}
