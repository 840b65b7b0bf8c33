import type { ServingSettings } from "./serving-options.ts";

/** The time that rates are counted over. */
const windowMs = 60_000;

/** A place among the requests under way. */
export interface RequestSlot {
  /** Ends the request, once. `tokens` it took in fact replace those that were reserved. */
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
 * Lets requests through in the order in which they come, as many at once and within any 60 seconds as the settings
 * allow. A request of more tokens than a minute has goes alone. {@link pause} holds all of them back.
 */
export class RateLimiter {
  readonly #limits: Pick<ServingSettings, "maxConcurrent" | "requestsPerMinute" | "tokensPerMinute">;
  readonly #waiting: Waiting[] = [];
  /** What was sent within the last minute, oldest first; kept only where a rate is limited. */
  readonly #sent: Sent[] = [];
  #underWay = 0;
  #pausedUntil = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: Pick<ServingSettings, "maxConcurrent" | "requestsPerMinute" | "tokensPerMinute">) {
    this.#limits = limits;
  }

  /** Waits for a place. Rejects with the signal's reason when it aborts. */
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

  /** Sends nothing for this long. A shorter pause does not end a longer one. */
  pause(ms: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, performance.now() + ms);
  }

  #advance(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      if (this.#underWay >= this.#limits.maxConcurrent) return;
      const wait = this.#wait(next.tokens);
      if (wait > 0) {
        this.#timer = setTimeout(() => this.#advance(), Math.ceil(wait));
        return;
      }
      this.#waiting.shift();
      next.admit(this.#slot(next.tokens));
    }
  }

  /** Milliseconds until a request of so many tokens may be sent. */
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
    this.#underWay += 1;
    if (requestsPerMinute < Infinity || tokensPerMinute < Infinity) this.#sent.push(sent);
    let released = false;
    return {
      release: (taken = sent.tokens) => {
        if (released) return;
        released = true;
        sent.tokens = taken;
        this.#underWay -= 1;
        this.#advance();
      },
    };
  }
}
