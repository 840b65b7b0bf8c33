import type { Policy } from "../../contract/policy.ts";

/** One request that a batching policy holds or answers. */
export interface HeldRequest {
  readonly policy: Policy;
  /** Called when the policy is told to run what it holds. */
  readonly flushed: () => void;
  /** Called when the policy threw at being told. */
  readonly failed: (error: unknown) => void;
  state: "held" | "running" | "settled";
}

/**
 * Decides when batching policies run. They are flushed when nothing is busy and no flushed request is unanswered: then
 * every slot of the rollout is blocked in a request, and which requests those are depends on task order alone, never
 * on which environment was quick.
 *
 * Whoever runs (a slot that starts or plays an episode) is busy from `enter` to `leave`, and leaves while it waits for
 * held requests only.
 */
export class FlushBarrier {
  #busy = 0;
  #running = 0;
  #scheduled = false;
  readonly #held = new Set<HeldRequest>();

  enter(): void {
    this.#busy += 1;
  }

  leave(): void {
    this.#busy -= 1;
    this.#schedule();
  }

  /** Registers a request that is about to be passed to `policy`. */
  hold(options: Pick<HeldRequest, "policy" | "flushed" | "failed">): HeldRequest {
    const request: HeldRequest = { ...options, state: "held" };
    this.#held.add(request);
    return request;
  }

  /** The request was answered or given up. Settling twice is harmless. */
  settle(request: HeldRequest): void {
    if (request.state === "held") this.#held.delete(request);
    if (request.state === "running") this.#running -= 1;
    request.state = "settled";
    this.#schedule();
  }

  get #due(): boolean {
    return this.#busy === 0 && this.#running === 0 && this.#held.size > 0;
  }

  // Not at once but from the event loop: whatever is still on its way through microtasks has arrived by then.
  #schedule(): void {
    if (this.#scheduled || !this.#due) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      if (this.#due) this.#flush();
    });
  }

  #flush(): void {
    const requests = [...this.#held];
    this.#held.clear();
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

/** Rejects with what `flush` threw; one that is async must not reject unheard. */
async function flush(policy: Policy): Promise<void> {
  await policy.flush!();
}
