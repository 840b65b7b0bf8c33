import { abortedError, boundedWait } from "./bounded-wait.ts";
import type { EventQueue } from "./event-queue.ts";
import type { RunSettings } from "./run-settings.ts";

/** The options of {@link RolloutSlots}. */
export interface SlotOptions<Task, Position, Event> {
  readonly count: number;
  readonly settings: RunSettings<Task>;
  readonly queue: EventQueue<Event>;
  /** Yields the positions to play. The signal aborts when no more are needed. */
  readonly positions: (signal: AbortSignal) => AsyncGenerator<Position, void, undefined>;
  /** Plays a position. A rejection ends the rollout. */
  readonly play: (position: Position) => Promise<void>;
  /** True if the pool was created for this rollout. */
  readonly closePool: boolean;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The slots of a rollout. Each slot plays the next position in task order, until there are no more positions or the
 * rollout is stopped. A slot is busy for the flush barrier until its end.
 */
export class RolloutSlots<Task, Position, Event> {
  readonly #options: SlotOptions<Task, Position, Event>;
  /** The runs that `stop` aborts. */
  readonly running: Set<{ abort(): void }> = new Set();
  readonly #positions: AsyncGenerator<Position, void, undefined>;
  readonly #stopped = new AbortController();
  #failure: unknown;
  readonly #onAbort = (): void => this.stop();

  constructor(options: SlotOptions<Task, Position, Event>) {
    this.#options = options;
    this.#positions = options.positions(this.#stopped.signal);
  }

  /** Aborts when the rollout is stopped. */
  get stopped(): AbortSignal {
    return this.#stopped.signal;
  }

  /** Plays all positions. Never rejects. */
  async play(): Promise<void> {
    const { signal, count } = this.#options;
    if (signal?.aborted) this.stop();
    else signal?.addEventListener("abort", this.#onAbort, { once: true });
    await Promise.all(Array.from({ length: count }, () => this.#slot()));
  }

  /** Ends the queue, with the failure or the abort if there was one, else after the event `last`. Never rejects. */
  async end(last?: () => Event): Promise<void> {
    const { signal, settings, queue, closePool } = this.#options;
    signal?.removeEventListener("abort", this.#onAbort);
    if (closePool) await settings.pool.close();
    if (this.#failure !== undefined) return queue.end(this.#failure);
    if (this.stopped.aborted) return queue.end(abortedError());
    if (last !== undefined) queue.push(last());
    queue.end();
  }

  /** Aborts the running positions and starts no more. */
  stop(): void {
    if (this.stopped.aborted) return;
    this.#stopped.abort();
    // Not awaited, because a source of tasks that hangs must not delay the end.
    void this.#positions.return().catch(() => {});
    for (const run of this.running) run.abort();
  }

  /** Stops the rollout and ends it with this error. Only the first error has an effect. */
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
        const position = await this.#next();
        if (position === undefined || this.stopped.aborted) return;
        await play(position);
      }
    } catch (error) {
      this.fail(error);
    } finally {
      barrier?.leave();
    }
  }

  async #next(): Promise<Position | undefined> {
    const signal = this.stopped;
    if (signal.aborted) return undefined;
    try {
      const next = await boundedWait(this.#positions.next(), { signal });
      return next.done ? undefined : next.value;
    } catch (error) {
      if (signal.aborted) return undefined;
      throw error;
    }
  }
}
