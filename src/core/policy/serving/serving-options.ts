import { LyceumError } from "../../../contract/errors/index.ts";

/** The limits and retries of requests to a model's server. */
export interface ServingOptions {
  /** The maximum number of concurrent requests. Default: no limit (a rollout limits its own concurrency). */
  readonly maxConcurrent?: number;
  /** The maximum number of requests within 60 seconds. Default: no limit. */
  readonly requestsPerMinute?: number;
  /**
   * The maximum number of tokens within 60 seconds. Default: no limit. Until its answer reports its usage, a request
   * counts as its prompt (estimated at four characters per token) plus the maximum that it may generate.
   */
  readonly tokensPerMinute?: number;
  /** The timeout of one try in milliseconds. Default: 10 minutes. The request is then aborted. */
  readonly timeoutMs?: number;
  /** The number of retries after a transient failure (429, 5xx, network, timeout, malformed answer). Default: 6. */
  readonly maxRetries?: number;
  /**
   * The maximum wait before the first retry in milliseconds. The actual wait is random, at least half of it. It doubles
   * with each retry. Default: 1,000.
   */
  readonly retryDelayMs?: number;
  /** The maximum wait between retries in milliseconds. Default: 60,000. */
  readonly maxRetryDelayMs?: number;
  /**
   * The maximum wait that a server's Retry-After may ask for in milliseconds. If it asks for more, the action fails
   * immediately. Default: 5 minutes.
   */
  readonly maxRetryAfterMs?: number;
}

/** Options with all defaults filled in. */
export type ServingSettings = Required<ServingOptions>;

const defaults: ServingSettings = {
  maxConcurrent: Infinity,
  requestsPerMinute: Infinity,
  tokensPerMinute: Infinity,
  timeoutMs: 600_000,
  maxRetries: 6,
  retryDelayMs: 1_000,
  maxRetryDelayMs: 60_000,
  maxRetryAfterMs: 300_000,
};

/** Applies the defaults to options. Throws `config.invalid` for an invalid value. */
export function resolveServing(options: ServingOptions): ServingSettings {
  const settings = { ...defaults };
  for (const name of Object.keys(defaults) as (keyof ServingSettings)[]) {
    const value = options[name];
    if (value === undefined) continue;
    const counts = name === "maxRetries" || name === "maxConcurrent" || name === "requestsPerMinute";
    const whole = !counts || value === Infinity || Number.isInteger(value);
    const enough = name.startsWith("max") && name !== "maxConcurrent" ? value >= 0 : value > 0;
    if (!whole || !enough) {
      throw new LyceumError({
        code: "config.invalid",
        message: `${name} cannot be ${value}.`,
        hint: counts ? "It must be an integer." : "It must be a number above 0.",
      });
    }
    settings[name] = value;
  }
  return settings;
}
