import { Worker } from "node:worker_threads";
import type { Comparison, ComparisonOutcome } from "./comparison.ts";

/** The timeout of a start in milliseconds. Loading the engine normally takes less than a second. */
const startLimitMs = 60_000;

/** Starts the thread that compares answers. */
export function startWorker(): Worker {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  return new Worker(new URL(`./worker.${extension}`, import.meta.url), {
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: 512 },
  });
}

/** A thread that compares answers, one question at a time. If a question exceeds its deadline, the thread is ended. */
export class ComparisonThread implements AsyncDisposable {
  readonly #worker: Worker;
  readonly #ready: Promise<void>;
  #settle: ((outcome: ComparisonOutcome) => void) | undefined;
  #death: ComparisonOutcome | undefined;

  constructor(worker: Worker) {
    this.#worker = worker;
    const ready = Promise.withResolvers<void>();
    this.#ready = ready.promise;
    const slow = setTimeout(() => this.#end({ type: "died", cause: "it did not start in time" }), startLimitMs);
    slow.unref();
    worker.on("message", (message: boolean) => {
      clearTimeout(slow);
      ready.resolve();
      this.#settle?.({ type: "decided", equal: message });
    });
    worker.on("error", (error: NodeJS.ErrnoException) => {
      const exhausted = error.code === "ERR_WORKER_OUT_OF_MEMORY";
      this.#end(exhausted ? { type: "exhausted" } : { type: "died", cause: error.message });
    });
    worker.on("exit", (code) => {
      clearTimeout(slow);
      this.#end({ type: "died", cause: `it exited with code ${code}` });
      ready.resolve();
    });
  }

  /** True if the thread accepts no more questions. */
  get ended(): boolean {
    return this.#death !== undefined;
  }

  /** Asks a question. If `signal` aborts, ends the thread and rejects with the signal's reason. */
  async ask(
    question: Comparison,
    options: { readonly deadlineMs: number; readonly signal?: AbortSignal | undefined },
  ): Promise<ComparisonOutcome> {
    const { deadlineMs, signal } = options;
    this.#worker.ref();
    const onAbort = (): void => this.#end({ type: "died", cause: "the call was aborted" });
    signal?.addEventListener("abort", onAbort, { once: true });
    let timer: NodeJS.Timeout | undefined;
    try {
      if (signal?.aborted === true) onAbort();
      await this.#ready;
      if (this.#death !== undefined) return this.#death;
      const outcome = new Promise<ComparisonOutcome>((resolve) => {
        this.#settle = resolve;
      });
      timer = setTimeout(() => this.#end({ type: "exhausted" }), deadlineMs);
      this.#worker.postMessage(question);
      return await outcome;
    } finally {
      clearTimeout(timer);
      this.#settle = undefined;
      signal?.removeEventListener("abort", onAbort);
      this.#worker.unref();
      signal?.throwIfAborted();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end({ type: "died", cause: "it was closed" });
    await this.#worker.terminate();
  }

  #end(death: ComparisonOutcome): void {
    if (this.#death !== undefined) return;
    this.#death = death;
    this.#settle?.(death);
    void this.#worker.terminate();
  }
}
