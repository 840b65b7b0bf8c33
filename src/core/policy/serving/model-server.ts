import { LyceumError } from "../../../contract/errors/index.ts";
import type { ActRequest, ActResult } from "../../../contract/policy.ts";
import { createRandom, deriveSeed } from "../../random/random.ts";
import { startTimer } from "../../rollout/rollout-limits.ts";
import { RateLimiter } from "./rate-limiter.ts";
import { RequestFailure } from "./request-failure.ts";
import { resolveServing, type ServingOptions, type ServingSettings } from "./serving-options.ts";

/** Asks a model's server within its limits, and again where a failure may pass. One for all requests to a server. */
export class ModelServer {
  readonly #name: string;
  readonly #settings: ServingSettings;
  readonly #limiter: RateLimiter;

  /** Throws `config.invalid` for options that cannot be. */
  constructor(name: string, options: ServingOptions) {
    this.#name = name;
    this.#settings = resolveServing(options);
    this.#limiter = new RateLimiter(this.#settings);
  }

  /**
   * Tries `attempt` until it answers, and adds how long that took and how often it had to try again. It throws a
   * {@link RequestFailure} for what it understands; anything else it throws is an error in the program. Rejects with
   * the failure's error, with `policy.unavailable` where no try helped, and with the signal's reason when that aborts.
   */
  async ask(request: ActRequest, attempt: (signal: AbortSignal) => Promise<ActResult>): Promise<ActResult> {
    const { signal } = request;
    const tokens = estimatedTokens(request);
    const random = createRandom(deriveSeed(request.seed, "retry"));
    for (let retries = 0; ; retries++) {
      const slot = await this.#limiter.acquire({ tokens, ...(signal === undefined ? {} : { signal }) });
      const started = performance.now();
      try {
        const answer = await this.#within(attempt, signal);
        const latencyMs = performance.now() - started;
        const { usage } = answer;
        slot.release(usage === undefined ? tokens : usage.promptTokens + usage.completionTokens);
        return { ...answer, latencyMs, ...(retries === 0 ? {} : { retries }) };
      } catch (error) {
        slot.release();
        signal?.throwIfAborted();
        if (!(error instanceof RequestFailure)) throw error;
        if (!error.transient) throw error.error;
        await this.#waitAfter(error, { retries, random: random.next(), signal });
      }
    }
  }

  /** One try, ended by the time limit or the caller's signal whether or not it heeds them. */
  async #within<T>(attempt: (signal: AbortSignal) => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    const { timeoutMs } = this.#settings;
    const ended = new AbortController();
    const { promise: stopped, reject } = Promise.withResolvers<never>();
    const stop = (reason: unknown): void => {
      reject(reason);
      ended.abort(reason);
    };
    const onAbort = (): void => stop(signal!.reason);
    const timer = startTimer(timeoutMs, () =>
      stop(new RequestFailure({ error: timeoutError(this.#name, timeoutMs), transient: true })),
    );
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      signal?.throwIfAborted();
      return await Promise.race([attempt(ended.signal), stopped]);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    }
  }

  /** Waits until it makes sense to try again. Throws `policy.unavailable` where it does not. */
  async #waitAfter(
    failure: RequestFailure,
    options: { readonly retries: number; readonly random: number; readonly signal: AbortSignal | undefined },
  ): Promise<void> {
    const { maxRetries, maxRetryAfterMs } = this.#settings;
    const { retries, random, signal } = options;
    const { error, retryAfterMs: asked = 0 } = failure;
    if (retries >= maxRetries) {
      const tries = retries === 0 ? "" : ` The last of ${retries + 1} tries: `;
      throw unavailable({ name: this.#name, what: `${tries}${error.message}`, cause: error });
    }
    if (asked > maxRetryAfterMs) {
      const what = `It asks to wait ${Math.ceil(asked / 1000)} seconds: ${error.message}`;
      throw unavailable({ name: this.#name, what, cause: error });
    }
    if (asked > 0) this.#limiter.pause(asked);
    await sleep(Math.max(asked, backoffMs({ ...this.#settings, retries, random })), signal);
  }
}

/** Waits; rejects with the signal's reason when it aborts. */
function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal!.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    if (signal?.aborted) onAbort();
    else signal?.addEventListener("abort", onAbort, { once: true });
  });
}

/** The wait before another try: doubling, and half of it random, so that those who failed together do not return so. */
export function backoffMs(options: {
  readonly retryDelayMs: number;
  readonly maxRetryDelayMs: number;
  readonly retries: number;
  /** In [0, 1). */
  readonly random: number;
}): number {
  const { retryDelayMs, maxRetryDelayMs, retries, random } = options;
  const whole = Math.min(maxRetryDelayMs, retryDelayMs * 2 ** retries);
  return whole * (0.5 + 0.5 * random);
}

/** What a request may take: its prompt at four characters a token, and all that it may generate. */
function estimatedTokens({ messages, tools = [], sampling }: ActRequest): number {
  let characters = tools.length === 0 ? 0 : JSON.stringify(tools).length;
  for (const { content, toolCalls = [] } of messages) {
    for (const part of content) characters += part.type === "image" ? 4000 : part.text.length;
    if (toolCalls.length > 0) characters += JSON.stringify(toolCalls).length;
  }
  return Math.ceil(characters / 4) + sampling.maxTokens;
}

function unavailable(options: {
  readonly name: string;
  readonly what: string;
  readonly cause: LyceumError;
}): LyceumError {
  const { name, what, cause } = options;
  return new LyceumError({
    code: "policy.unavailable",
    message: `Model "${name}" did not answer. ${what.trim()}`,
    hint: "The model is not at fault, and the episode is unscored. Look at the server, lower maxConcurrent or the rates, or raise maxRetries.",
    ...(cause.data === undefined ? {} : { data: cause.data }),
    cause,
  });
}

function timeoutError(name: string, ms: number): LyceumError {
  return new LyceumError({
    code: "timeout",
    message: `No answer came from "${name}" within ${ms} ms.`,
    hint: "Raise timeoutMs if the model only needs longer.",
    data: { reason: "timeout", ms },
  });
}
