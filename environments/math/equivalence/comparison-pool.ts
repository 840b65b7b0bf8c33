import type { Worker } from "node:worker_threads";
import type { Comparison, ComparisonOutcome } from "./comparison.ts";
import { ComparisonThread, startWorker } from "./comparison-thread.ts";

/** The options of a pool. All have defaults. */
export interface ComparisonPoolOptions {
  /** Number of threads, each with an engine of about 60 MB. 1 by default. */
  readonly threads?: number;
  /** Timeout of one comparison in milliseconds, without the start of its thread. 2,000 by default. */
  readonly deadlineMs?: number;
  /** Starts a thread. For tests. */
  readonly start?: () => Worker;
}

/** A pool of threads that compare answers. Threads start when they are first needed. An ended thread is replaced. */
export class ComparisonPool implements AsyncDisposable {
  readonly #threads: (ComparisonThread | undefined)[];
  readonly #free: number[];
  readonly #waiting: ((slot: number) => void)[] = [];
  readonly #deadlineMs: number;
  readonly #start: () => Worker;
  #closed = false;

  constructor(options: ComparisonPoolOptions = {}) {
    const { threads = 1, deadlineMs = 2_000, start = startWorker } = options;
    this.#threads = Array.from({ length: threads }, () => undefined);
    this.#free = [...this.#threads.keys()];
    this.#deadlineMs = deadlineMs;
    this.#start = start;
  }

  /** Returns the outcome of a comparison. If a thread dies, it is replaced and the comparison is retried once. */
  async compare(question: Comparison, signal?: AbortSignal): Promise<ComparisonOutcome> {
    signal?.throwIfAborted();
    const slot =
      this.#free.pop() ??
      (await new Promise<number>((resolve) => {
        this.#waiting.push(resolve);
      }));
    try {
      const outcome = await this.#ask(slot, question, signal);
      return outcome.type === "died" && !this.#closed ? await this.#ask(slot, question, signal) : outcome;
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free.push(slot);
      else next(slot);
    }
  }

  /** Ends every thread. Running comparisons resolve as died. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#threads.map((thread) => thread?.[Symbol.asyncDispose]()));
  }

  async #ask(slot: number, question: Comparison, signal: AbortSignal | undefined): Promise<ComparisonOutcome> {
    signal?.throwIfAborted();
    if (this.#closed) return { type: "died", cause: "the checker was closed" };
    let thread = this.#threads[slot];
    if (thread === undefined || thread.ended) {
      thread = new ComparisonThread(this.#start());
      this.#threads[slot] = thread;
    }
    return thread.ask(question, { deadlineMs: this.#deadlineMs, signal });
  }
}
