import { LyceumError } from "../../../contract/errors/index.ts";
import type { ActRequest, ActResult } from "../../../contract/policy.ts";
import { createRandom, deriveSeed } from "../../random/random.ts";
import { startTimer } from "../../rollout/rollout-limits.ts";
import { RateLimiter } from "./rate-limiter.ts";
import { RequestFailure } from "./request-failure.ts";
import { backoffMs, sleep } from "./retry-wait.ts";
import { resolveServing, type ServingOptions, type ServingSettings } from "./serving-options.ts";

/** The number of prompts that a server refuses before its refusals count as those of all prompts. */
const refusedPrompts = 3;

/**
 * Sends requests to a model's server within its limits and retries transient failures. Use one instance for all
 * requests to a server.
 */
export class ModelServer {
  readonly #name: string;
  readonly #settings: ServingSettings;
  readonly #limiter: RateLimiter;
  #hasAnswered = false;
  /** The prompts that were refused without a reason before the first answer. At most {@link refusedPrompts}. */
  readonly #refused = new Set<string>();

  /** Throws `config.invalid` for invalid options. */
  constructor(name: string, options: ServingOptions) {
    this.#name = name;
    this.#settings = resolveServing(options);
    this.#limiter = new RateLimiter(this.#settings);
  }

  /**
   * Calls `attempt` until it succeeds, and adds the latency and the number of retries to its result. `attempt` throws a
   * {@link RequestFailure} for known failures. Any other error counts as a bug and is thrown unchanged. Rejects with
   * the error of a permanent failure, with `policy.unavailable` if all retries failed, and with the signal's reason on
   * abort.
   */
  async ask<Answer extends ActResult>(
    request: ActRequest,
    attempt: (signal: AbortSignal) => Promise<Answer>,
  ): Promise<Answer> {
    const { signal } = request;
    const tokens = estimatedTokens(request);
    const random = createRandom(deriveSeed(request.seed, "retry"));
    let last: RequestFailure | undefined;
    for (let retries = 0; ; retries++) {
      const slot = await this.#limiter.acquire({ tokens, signal });
      const started = performance.now();
      try {
        const answer = await this.#within(attempt, signal);
        const latencyMs = performance.now() - started;
        const { usage } = answer;
        this.#hasAnswered = true;
        slot.release(usage === undefined ? tokens : usage.promptTokens + usage.completionTokens);
        return { ...answer, latencyMs, ...(retries === 0 ? {} : { retries }) };
      } catch (error) {
        slot.release();
        signal?.throwIfAborted();
        if (!(error instanceof RequestFailure)) throw error;
        if (!error.transient) throw this.#permanent(error, request);
        const isRepeated = error.charged && error.message === last?.message;
        last = error;
        await this.#waitAfter(error, { retries, isRepeated, random: random.next(), signal });
      }
    }
  }

  /** Returns the error of a permanent failure. A server that refuses every prompt refuses the key or the configuration. */
  #permanent({ error, ifNoneAnswered }: RequestFailure, { messages }: ActRequest): LyceumError {
    if (ifNoneAnswered === undefined || this.#hasAnswered) return error;
    if (this.#refused.size < refusedPrompts) this.#refused.add(JSON.stringify(messages));
    return this.#refused.size < refusedPrompts ? error : ifNoneAnswered;
  }

  /** Makes one try. Stops waiting at the timeout or on abort, even if the try ignores its signal. */
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

  /** Waits before a retry. Throws `policy.unavailable` if there are no more retries. */
  async #waitAfter(
    failure: RequestFailure,
    options: {
      readonly retries: number;
      readonly isRepeated: boolean;
      readonly random: number;
      readonly signal: AbortSignal | undefined;
    },
  ): Promise<void> {
    const { maxRetries, maxRetryAfterMs } = this.#settings;
    const { retries, isRepeated, random, signal } = options;
    const { error, retryAfterMs: asked = 0 } = failure;
    if (retries >= maxRetries || isRepeated) {
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

/**
 * Estimates the maximum tokens of a request: its prompt at four characters per token, plus all tokens that it may
 * generate.
 */
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
    hint: "This is not the model's fault, so the episode is unscored. Check the server, lower maxConcurrent or the rates, or raise maxRetries.",
    data: cause.data,
    cause,
  });
}

function timeoutError(name: string, ms: number): LyceumError {
  return new LyceumError({
    code: "timeout",
    message: `No answer came from "${name}" within ${ms} ms.`,
    hint: "Raise timeoutMs if the model needs more time.",
    data: { reason: "timeout", ms },
  });
}
