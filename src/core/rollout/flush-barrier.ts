import type { Policy } from "../../contract/policy.ts";

/** One request to a batching policy. */
export interface QueuedRequest {
  readonly policy: Policy;
  /** Called before the policy is flushed. */
  readonly flushed: () => void;
  /** Called if the policy's `flush` throws. */
  readonly failed: (error: unknown) => void;
  state: "queued" | "running" | "settled";
}

/**
 * Decides when batching policies run. Flushes them when no slot is busy and all flushed requests are answered. At that
 * point all slots of the rollout wait for queued requests. The batch therefore depends on task order alone, and not on
 * the speed of environments.
 *
 * A slot that starts or plays an episode is busy from `enter` to `leave`. It leaves while it only waits for queued
 * requests.
 */
export class FlushBarrier {
  #busy = 0;
  #running = 0;
  #scheduled = false;
  readonly #queued = new Set<QueuedRequest>();

  enter(): void {
    this.#busy += 1;
  }

  leave(): void {
    this.#busy -= 1;
    this.#schedule();
  }

  /** Registers a request before it is passed to `policy`. */
  queue(options: Pick<QueuedRequest, "policy" | "flushed" | "failed">): QueuedRequest {
    const request: QueuedRequest = { ...options, state: "queued" };
    this.#queued.add(request);
    return request;
  }

  /** Marks a request as answered or abandoned. A second call has no effect. */
  settle(request: QueuedRequest): void {
    if (request.state === "queued") this.#queued.delete(request);
    if (request.state === "running") this.#running -= 1;
    request.state = "settled";
    this.#schedule();
  }

  get #due(): boolean {
    return this.#busy === 0 && this.#running === 0 && this.#queued.size > 0;
  }

  // Flushes in a later turn of the event loop, after all pending microtasks have registered their requests.
  #schedule(): void {
    if (this.#scheduled || !this.#due) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      if (this.#due) this.#flush();
    });
  }

  #flush(): void {
    const requests = [...this.#queued];
    this.#queued.clear();
    this.#running = requests.length;
    for (const request of requests) {
      request.state = "running";
      request.flushed();
    }
    for (const policy of new Set(requests.map((request) => request.policy))) {
      void flush(policy).catch((error: unknown) => {
        for (const request of requests) if (request.policy === policy) request.failed(error);
      });
    }
  }
}

/** Rejects with the error of `flush`, also if it is async. */
async function flush(policy: Policy): Promise<void> {
  await policy.flush!();
}
