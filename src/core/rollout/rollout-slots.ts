import { abortedError, boundedWait } from "./bounded-wait.ts";
import type { EventQueue } from "./event-queue.ts";
import type { RunSettings } from "./run-settings.ts";

/** What the slots of a rollout share. */
export interface SlotOptions<Task, Place, Event> {
  readonly count: number;
  readonly settings: RunSettings<Task>;
  readonly queue: EventQueue<Event>;
  /** Makes the places to play. Told by the signal when no more are wanted. */
  readonly places: (signal: AbortSignal) => AsyncGenerator<Place, void, undefined>;
  /** Plays a place. What it rejects with ends the rollout. */
  readonly play: (place: Place) => Promise<void>;
  /** True where the pool was made for this rollout. */
  readonly closePool: boolean;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The slots of a rollout: each plays the next place in task order when it is free, until there is none left or
 * something stops them all. A slot counts as busy for the flush barrier until its end.
 */
export class RolloutSlots<Task, Place, Event> {
  readonly #options: SlotOptions<Task, Place, Event>;
  /** What a stop is to abort. */
  readonly running: Set<{ abort(): void }> = new Set();
  readonly #places: AsyncGenerator<Place, void, undefined>;
  readonly #stopped = new AbortController();
  #failure: unknown;
  readonly #onAbort = (): void => this.stop();

  constructor(options: SlotOptions<Task, Place, Event>) {
    this.#options = options;
    this.#places = options.places(this.#stopped.signal);
  }

  /** Aborts when everything is to stop. */
  get stopped(): AbortSignal {
    return this.#stopped.signal;
  }

  /** Plays all places. Never rejects. */
  async play(): Promise<void> {
    const { signal, count } = this.#options;
    if (signal?.aborted) this.stop();
    else signal?.addEventListener("abort", this.#onAbort, { once: true });
    await Promise.all(Array.from({ length: count }, () => this.#slot()));
  }

  /** Ends the queue: with the failure or the abort, where there was one, else after `last`. Never rejects. */
  async end(last?: () => Event): Promise<void> {
    const { signal, settings, queue, closePool } = this.#options;
    signal?.removeEventListener("abort", this.#onAbort);
    if (closePool) await settings.pool.close();
    if (this.#failure !== undefined) return queue.end(this.#failure);
    if (this.stopped.aborted) return queue.end(abortedError());
    if (last !== undefined) queue.push(last());
    queue.end();
  }

  /** Aborts what runs and starts no more. */
  stop(): void {
    if (this.stopped.aborted) return;
    this.#stopped.abort();
    // Not awaited: a source of tasks that hangs must not hold up the end.
    void this.#places.return().catch(() => {});
    for (const run of this.running) run.abort();
  }

  /** Stops, and ends the rollout with this error. The first one counts. */
  fail(error: unknown): void {
    this.#failure ??= error;
    this.stop();
  }

  async #slot(): Promise<void> {
    const { settings, queue, play } = this.#options;
    const { barrier, slice } = settings;
    barrier?.enter();
    try {
      for (;;) {
        await queue.room();
        await slice.pause();
        const place = await this.#next();
        if (place === undefined || this.stopped.aborted) return;
        await play(place);
      }
    } catch (error) {
      this.fail(error);
    } finally {
      barrier?.leave();
    }
  }

  async #next(): Promise<Place | undefined> {
    const signal = this.stopped;
    if (signal.aborted) return undefined;
    try {
      const next = await boundedWait(this.#places.next(), { signal });
      return next.done ? undefined : next.value;
    } catch (error) {
      if (signal.aborted) return undefined;
      throw error;
    }
  }
}
