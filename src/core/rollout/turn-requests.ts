import type { Policy } from "../../contract/policy.ts";
import type { FlushBarrier, HeldRequest } from "./flush-barrier.ts";

/**
 * The requests of one turn of one episode as the {@link FlushBarrier} sees them: the episode stops being busy while
 * all that it waits for is held by batching policies.
 */
export class TurnRequests {
  readonly #barrier: FlushBarrier;
  readonly #onHeld: () => void;
  readonly #onFlush: () => void;
  readonly #onError: (error: unknown, policy: Policy) => void;
  readonly #held = new Set<HeldRequest>();
  /** Requests of policies that answer by themselves. */
  #direct = 0;
  #started = false;
  #blocked = false;

  constructor(options: {
    readonly barrier: FlushBarrier;
    /** All that is unanswered is held: the wait for its batch begins. */
    readonly onHeld: () => void;
    readonly onFlush: () => void;
    /** A policy threw at being flushed. */
    readonly onError: (error: unknown, policy: Policy) => void;
  }) {
    this.#barrier = options.barrier;
    this.#onHeld = options.onHeld;
    this.#onFlush = options.onFlush;
    this.#onError = options.onError;
  }

  /** Registers a request; call what it returns when the request has been answered. */
  add(policy: Policy): () => void {
    if (policy.flush === undefined) {
      this.#direct += 1;
      return () => {
        this.#direct -= 1;
        this.#update();
      };
    }
    const request = this.#barrier.hold({
      policy,
      flushed: this.#onFlush,
      failed: (error) => this.#onError(error, policy),
    });
    this.#held.add(request);
    return () => this.#settle(request);
  }

  /** All requests of the turn have been made. */
  start(): void {
    this.#started = true;
    this.#update();
  }

  /** The episode waits no longer: what is unanswered is given up. Harmless when all has been answered. */
  end(): void {
    this.#started = false;
    this.#update();
    for (const request of this.#held) this.#settle(request);
  }

  #settle(request: HeldRequest): void {
    this.#held.delete(request);
    // Busy first: the barrier must not take the moment between answer and continuation for idleness.
    this.#update();
    this.#barrier.settle(request);
  }

  #update(): void {
    const blocked = this.#started && this.#direct === 0 && this.#held.size > 0;
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
