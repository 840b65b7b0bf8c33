import type { ServingSettings } from "./serving-options.ts";

/** The time window of the rates. */
const windowMs = 60_000;

/** A place among the running requests. */
export interface RequestSlot {
  /** Ends the request, once. The actual `tokens` replace the reserved ones. */
  release(tokens?: number): void;
}

interface Sent {
  readonly at: number;
  tokens: number;
}

interface Waiting {
  readonly tokens: number;
  readonly admit: (slot: RequestSlot) => void;
}

/**
 * Admits requests in the order of arrival, within the settings' limits on running requests and on requests and tokens
 * per 60 seconds. A request with more tokens than the limit per minute runs alone. {@link pause} delays all of them.
 */
export class RateLimiter {
  readonly #limits: Pick<ServingSettings, "maxConcurrent" | "requestsPerMinute" | "tokensPerMinute">;
  readonly #waiting: Waiting[] = [];
  /** The requests of the last minute, oldest first. Empty if no rate is limited. */
  readonly #sent: Sent[] = [];
  #running = 0;
  #pausedUntil = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: Pick<ServingSettings, "maxConcurrent" | "requestsPerMinute" | "tokensPerMinute">) {
    this.#limits = limits;
  }

  /** Waits for a place. Rejects with the signal's reason on abort. */
  acquire(options: { readonly tokens: number; readonly signal?: AbortSignal }): Promise<RequestSlot> {
    const { tokens, signal } = options;
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        reject(signal!.reason);
        this.#advance();
      };
      const waiting: Waiting = {
        tokens,
        admit: (slot) => {
          signal?.removeEventListener("abort", onAbort);
          resolve(slot);
        },
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#waiting.push(waiting);
      this.#advance();
    });
  }

  /** Sends nothing for this time. A shorter pause does not end a longer one. */
  pause(ms: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, performance.now() + ms);
  }

  #advance(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      if (this.#running >= this.#limits.maxConcurrent) return;
      const wait = this.#wait(next.tokens);
      if (wait > 0) {
        this.#timer = setTimeout(() => this.#advance(), Math.ceil(wait));
        return;
      }
      this.#waiting.shift();
      next.admit(this.#slot(next.tokens));
    }
  }

  /** Returns the milliseconds until a request with this many tokens may be sent. */
  #wait(tokens: number): number {
    const now = performance.now();
    const { requestsPerMinute, tokensPerMinute } = this.#limits;
    while (this.#sent.length > 0 && this.#sent[0]!.at <= now - windowMs) this.#sent.shift();
    let free = now;
    let left = tokensPerMinute - tokens;
    for (let index = this.#sent.length - 1; index >= 0; index--) {
      const { at, tokens: taken } = this.#sent[index]!;
      left -= taken;
      if (left >= 0 && this.#sent.length - index < requestsPerMinute) continue;
      free = at + windowMs;
      break;
    }
    return Math.max(free, this.#pausedUntil) - now;
  }

  #slot(tokens: number): RequestSlot {
    const { requestsPerMinute, tokensPerMinute } = this.#limits;
    const sent = { at: performance.now(), tokens };
    this.#running += 1;
    if (requestsPerMinute < Infinity || tokensPerMinute < Infinity) this.#sent.push(sent);
    let released = false;
    return {
      release: (taken = sent.tokens) => {
        if (released) return;
        released = true;
        sent.tokens = taken;
        this.#running -= 1;
        this.#advance();
      },
    };
  }
}
