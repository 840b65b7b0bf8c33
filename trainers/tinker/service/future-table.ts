import { randomUUID } from "node:crypto";
import { type Completion, CompletionQueue, type Completions } from "./completion-queue.ts";
import { memorySize } from "./memory-size.ts";
import { RequestError } from "./request-error.ts";

/** The state of a request whose result is computed later. */
interface Future<Result> {
  readonly owner: string | undefined;
  readonly result: Promise<Result>;
  readonly stop: AbortController;
  /** True after a client has received the result. */
  delivered: boolean;
  /** The time in milliseconds at which the result was complete. Undefined before. */
  completed?: number;
  /** The bytes of the result. 0 before it is complete. */
  bytes: number;
}

/** The result or the error of a request. */
export type Outcome<Result> = { readonly value: Result } | { readonly error: unknown };

/** The identity of a request that runs once. */
export interface Once {
  /** The group of the key. {@link FutureTable.forget} forgets all keys of an owner. */
  readonly owner: string;
  readonly key: string | number;
  readonly digest: string;
  /**
   * The owner's queue that gets the id of the request when it ends. For clients that wait for many requests at once.
   */
  readonly queue?: number;
}

/** A request that was accepted: its answer, and a digest of its body. */
interface Accepted {
  readonly requestId: string;
  readonly digest: string;
}

/**
 * The results of requests, by request id. An id cannot be guessed. A request with a key runs once: the same key returns
 * the same request id, also after its result has expired. Results expire after a time, and the oldest ones earlier if all
 * of them exceed a size.
 */
export class FutureTable<Result = unknown> {
  readonly #resultMs: number;
  readonly #maxResultBytes: number;
  /** Begins the ids of this server's requests, so that ids of an earlier one are unknown. */
  readonly #server = randomUUID().slice(0, 8);
  readonly #futures = new Map<string, Future<Result>>();
  readonly #accepted = new Map<string, Map<string, Accepted>>();
  readonly #queues = new Map<string, Map<number, CompletionQueue>>();
  #count = 0;
  /** The bytes of all results. */
  #bytes = 0;

  /**
   * Results are kept for `resultMs` milliseconds after they are complete, and all of them have at most `maxResultBytes`
   * bytes. The newest result is always kept.
   */
  constructor(options: { readonly resultMs: number; readonly maxResultBytes: number }) {
    this.#resultMs = options.resultMs;
    this.#maxResultBytes = options.maxResultBytes;
  }

  /**
   * Starts work and returns its request id. With a key, the work of an equal request is not started again. Throws
   * `RequestError` 409 for an equal key with another body. The signal of the work aborts if the request is cancelled.
   */
  start(work: (signal: AbortSignal) => Promise<Result>, once?: Once): string {
    const keys = once && this.#keysOf(once.owner);
    const earlier = once && keys?.get(String(once.key));
    if (earlier !== undefined) {
      if (earlier.digest === once!.digest) return earlier.requestId;
      throw new RequestError(409, `Request ${once!.key} of ${once!.owner} was sent before with another body.`);
    }
    this.#count += 1;
    const requestId = `${this.#server}:${this.#count}:${randomUUID()}`;
    const stop = new AbortController();
    const result = work(stop.signal);
    const future: Future<Result> = { owner: once?.owner, result, stop, delivered: false, bytes: 0 };
    this.#futures.set(requestId, future);
    const complete = (state: Completion["state"], value?: Result): void => {
      future.completed = Date.now();
      future.bytes = memorySize(value);
      this.#bytes += future.bytes;
      this.#limitSize(requestId);
      // An owner that was forgotten in the meantime gets no new queue.
      if (once?.queue !== undefined && this.has(once.owner, once.key))
        this.#queueOf(once.owner, once.queue).add({ state, request_id: requestId });
    };
    result.then(
      (value) => complete("finished", value),
      () => complete("failed"),
    );
    if (once !== undefined) keys!.set(String(once.key), { requestId, digest: once.digest });
    return requestId;
  }

  /** True if a request of this owner with this key was accepted. */
  has(owner: string, key: string | number): boolean {
    return this.#accepted.get(owner)?.has(String(key)) === true;
  }

  /**
   * Returns the result of a request, or its error. Rejects with a `RequestError`: 408 after `waitMs` milliseconds without
   * a result, 410 for a result that has expired, 404 for an unknown id.
   */
  async result(requestId: string, waitMs: number): Promise<Outcome<Result>> {
    const future = this.#futureOf(requestId);
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(new RequestError(408, "The request is still running.")), waitMs);
    try {
      const outcome = await Promise.race([
        future.result.then(
          (value) => ({ value }),
          (error: unknown) => ({ error }),
        ),
        late.promise,
      ]);
      future.delivered = true;
      return outcome;
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Returns the requests of a queue that have ended since a cursor, and the next cursor. Waits for at most `waitMs`
   * milliseconds for one. Drops the results of the owner that the client has received.
   */
  completions(options: {
    readonly owner: string;
    readonly queue: number;
    readonly cursor: number;
    readonly received: readonly string[];
    readonly waitMs: number;
  }): Promise<Completions> {
    const { owner, queue, cursor, received, waitMs } = options;
    for (const id of received) {
      const future = this.#futures.get(id);
      if (future?.owner === owner && future.completed !== undefined) this.#drop(id);
    }
    return this.#queueOf(owner, queue).after(cursor, waitMs);
  }

  /** Forgets the keys and queues of an owner, and aborts its running work. Its results stay until they expire. */
  forget(owner: string): void {
    this.#accepted.delete(owner);
    this.#queues.delete(owner);
    for (const [id, future] of this.#futures) {
      if (future.owner !== owner || future.completed !== undefined) continue;
      future.stop.abort(new RequestError(410, `The session or model of request ${id} has ended.`));
    }
  }

  /** Frees the memory of results that have expired. Call it from time to time. */
  expire(): void {
    for (const [id, future] of this.#futures) if (this.#hasExpired(future)) this.#drop(id);
  }

  /** The number of requests whose work is running or waits for its turn. */
  get running(): number {
    return this.#futures.values().reduce((count, { completed }) => count + (completed === undefined ? 1 : 0), 0);
  }

  /** The number of results that no client has received yet. */
  get undelivered(): number {
    return this.#futures.values().reduce((count, { delivered }) => count + (delivered ? 0 : 1), 0);
  }

  /** Aborts the work of a request. Throws like {@link result} for an unknown id. Complete results stay. */
  cancel(requestId: string): void {
    this.#futureOf(requestId).stop.abort(new RequestError(400, `Request ${requestId} was cancelled.`));
  }

  /** Waits until no work is running. */
  async settled(): Promise<void> {
    await Promise.allSettled([...this.#futures.values()].map(({ result }) => result));
  }

  #futureOf(requestId: string): Future<Result> {
    const future = this.#futures.get(requestId);
    if (future !== undefined && !this.#hasExpired(future)) return future;
    const [server, number] = requestId.split(":");
    const known = server === this.#server && Number(number) >= 1 && Number(number) <= this.#count;
    if (known) throw new RequestError(410, `The result of request ${requestId} has expired.`);
    throw new RequestError(404, `Request ${requestId} is unknown.`);
  }

  #keysOf(owner: string): Map<string, Accepted> {
    const keys = this.#accepted.get(owner) ?? new Map<string, Accepted>();
    this.#accepted.set(owner, keys);
    return keys;
  }

  #queueOf(owner: string, name: number): CompletionQueue {
    const queues = this.#queues.get(owner) ?? new Map<number, CompletionQueue>();
    this.#queues.set(owner, queues);
    const queue = queues.get(name) ?? new CompletionQueue();
    queues.set(name, queue);
    return queue;
  }

  #hasExpired({ completed }: Future<Result>): boolean {
    return completed !== undefined && completed <= Date.now() - this.#resultMs;
  }

  /** Drops the oldest results while all of them are too large. Keeps that of the request `newest`. */
  #limitSize(newest: string): void {
    for (const [id, { completed }] of this.#futures) {
      if (this.#bytes <= this.#maxResultBytes) return;
      if (completed !== undefined && id !== newest) this.#drop(id);
    }
  }

  #drop(requestId: string): void {
    this.#bytes -= this.#futures.get(requestId)?.bytes ?? 0;
    this.#futures.delete(requestId);
  }
}
