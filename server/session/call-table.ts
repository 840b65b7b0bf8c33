/** The number of slots of an id. A call's generation is counted above it. */
const slots = 2 ** 20;

/**
 * The running calls of a worker, by ids that are never used again. The slot of an ended call is reused.
 *
 * A `Map` would reallocate its table whenever its size swings between a few calls and none. V8 frees such a table only
 * in a full garbage collection, together with everything that it refers to, so that each short collection takes several
 * milliseconds at thousands of calls a second.
 */
export class CallTable<Call> {
  readonly #calls: ({ readonly id: number; readonly call: Call } | undefined)[] = [];
  readonly #free: number[] = [];
  #generation = 0;

  get size(): number {
    return this.#calls.length - this.#free.length;
  }

  /** Adds a call and returns its id. */
  add(call: Call): number {
    const slot = this.#free.pop() ?? this.#calls.length;
    this.#generation += 1;
    const id = this.#generation * slots + slot;
    this.#calls[slot] = { id, call };
    return id;
  }

  /** Returns undefined if the call has ended. */
  get(id: number): Call | undefined {
    const entry = this.#calls[id % slots];
    return entry?.id === id ? entry.call : undefined;
  }

  /** Ignores the id of a call that has ended. */
  delete(id: number): void {
    if (this.get(id) === undefined) return;
    this.#calls[id % slots] = undefined;
    this.#free.push(id % slots);
  }

  values(): Call[] {
    return this.#calls.flatMap((entry) => (entry === undefined ? [] : [entry.call]));
  }
}
