/** Work that waits for its turn. */
interface Waiting {
  readonly sequence: number;
  readonly run: () => Promise<void>;
}

/**
 * Runs the requests of one model one at a time, in the order of their sequence ids. A request waits for those with
 * smaller ids that have not arrived, for at most `gapMs` milliseconds, because a client can skip an id.
 */
export class OrderedQueue {
  readonly #gapMs: number;
  readonly #waiting: Waiting[] = [];
  /** The next sequence id in order. */
  #next = 1;
  #busy = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: { readonly gapMs: number }) {
    this.#gapMs = options.gapMs;
  }

  /** True if a request with this id can still run in order. */
  accepts(sequence: number): boolean {
    return sequence >= this.#next;
  }

  /** Adds work. Without a sequence id it runs after the work that has arrived. Resolves with its result. */
  add<T>(work: () => Promise<T>, sequence?: number): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const last = Math.max(this.#waiting.at(-1)?.sequence ?? 0, this.#next - 1);
    const place = sequence ?? Math.floor(last) + 0.5;
    this.#waiting.push({ sequence: place, run: () => work().then(resolve, reject) });
    this.#waiting.sort((a, b) => a.sequence - b.sequence);
    this.#advance();
    return promise;
  }

  #advance(patient = true): void {
    clearTimeout(this.#timer);
    const [first] = this.#waiting;
    if (this.#busy || first === undefined) return;
    if (patient && first.sequence > this.#next) {
      this.#timer = setTimeout(() => this.#advance(false), this.#gapMs);
      return;
    }
    this.#waiting.shift();
    this.#next = Math.max(this.#next, Math.floor(first.sequence) + 1);
    this.#busy = true;
    void first.run().finally(() => {
      this.#busy = false;
      this.#advance();
    });
  }
}
