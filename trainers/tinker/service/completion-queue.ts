import { setTimeout as delay } from "node:timers/promises";

/** A request that has ended. Clients get its result by its id. */
export interface Completion {
  readonly state: "finished" | "failed";
  readonly request_id: string;
}

/** The requests that have ended after a cursor, and the next cursor. */
export interface Completions {
  readonly completions: readonly Completion[];
  readonly cursor: number;
}

/** The maximum number of completions in a queue. If a client does not read them, the oldest is dropped. */
const mostKept = 65_536;

/**
 * The ended requests of one sampler, in the order in which they ended. A client reads them by a cursor: the number of
 * completions that it has read. If an answer is lost, the client sends the same cursor again.
 */
export class CompletionQueue {
  readonly #entries: Completion[] = [];
  /** The number of completions before the first entry. */
  #dropped = 0;
  #arrival = Promise.withResolvers<void>();

  add(completion: Completion): void {
    this.#entries.push(completion);
    if (this.#entries.length > mostKept) this.#drop(1);
    this.#arrival.resolve();
    this.#arrival = Promise.withResolvers<void>();
  }

  /**
   * Returns the completions after a cursor, and the cursor after them. Waits for at most `waitMs` milliseconds if there
   * is none. Drops those before the cursor.
   */
  async after(cursor: number, waitMs: number): Promise<Completions> {
    this.#drop(cursor - this.#dropped);
    if (this.#entries.length === 0 && waitMs > 0) {
      const end = new AbortController();
      const late = delay(waitMs, undefined, { signal: end.signal }).catch(() => undefined);
      await Promise.race([this.#arrival.promise, late]);
      end.abort();
    }
    return { completions: [...this.#entries], cursor: this.#dropped + this.#entries.length };
  }

  #drop(count: number): void {
    this.#dropped += this.#entries.splice(0, Math.max(0, count)).length;
  }
}
