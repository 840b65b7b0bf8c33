import type { Policy } from "../../contract/policy.ts";
import type { FlushBarrier, QueuedRequest } from "./flush-barrier.ts";

/**
 * Registers the requests of one turn of one episode at the {@link FlushBarrier}. The episode is not busy while all its
 * unanswered requests are queued by batching policies.
 */
export class TurnRequests {
  readonly #barrier: FlushBarrier;
  readonly #onHeld: () => void;
  readonly #onFlush: () => void;
  readonly #onError: (error: unknown, policy: Policy) => void;
  readonly #queued = new Set<QueuedRequest>();
  /** The number of unanswered requests to policies without batching. */
  #direct = 0;
  #started = false;
  #blocked = false;

  constructor(options: {
    readonly barrier: FlushBarrier;
    /** Called when all unanswered requests are queued, so that the wait for the batch begins. */
    readonly onHeld: () => void;
    readonly onFlush: () => void;
    /** Called if a policy's `flush` throws. */
    readonly onError: (error: unknown, policy: Policy) => void;
  }) {
    this.#barrier = options.barrier;
    this.#onHeld = options.onHeld;
    this.#onFlush = options.onFlush;
    this.#onError = options.onError;
  }

  /** Registers a request. Call the returned function after the request has been answered. */
  add(policy: Policy): () => void {
    if (policy.flush === undefined) {
      this.#direct += 1;
      return () => {
        this.#direct -= 1;
        this.#update();
      };
    }
    const request = this.#barrier.queue({
      policy,
      flushed: this.#onFlush,
      failed: (error) => this.#onError(error, policy),
    });
    this.#queued.add(request);
    return () => this.#settle(request);
  }

  /** Call this after all requests of the turn have been registered. */
  start(): void {
    this.#started = true;
    this.#update();
  }

  /** Abandons all unanswered requests. Has no effect if there are none. */
  end(): void {
    this.#started = false;
    this.#update();
    for (const request of this.#queued) this.#settle(request);
  }

  #settle(request: QueuedRequest): void {
    this.#queued.delete(request);
    // First becomes busy again, so that the barrier does not flush between the answer and the continuation.
    this.#update();
    this.#barrier.settle(request);
  }

  #update(): void {
    const blocked = this.#started && this.#direct === 0 && this.#queued.size > 0;
    if (blocked === this.#blocked) return;
    this.#blocked = blocked;
    if (blocked) {
      this.#onHeld();
      this.#barrier.leave();
    } else {
      this.#barrier.enter();
    }
  }
}
