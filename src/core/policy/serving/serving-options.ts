import { LyceumError } from "../../../contract/errors/index.ts";

/** How a model's server is asked: how often, how much at once, and how patiently. */
export interface ServingOptions {
  /** The most requests under way at once; no limit by default (a rollout's concurrency is one). */
  readonly maxConcurrent?: number;
  /** The most requests sent within any 60 seconds; no limit by default. */
  readonly requestsPerMinute?: number;
  /**
   * The most tokens within any 60 seconds; no limit by default. A request counts as its prompt, estimated at four
   * characters a token, and the most it may generate, until its answer tells its usage.
   */
  readonly tokensPerMinute?: number;
  /** How long one try may take, in milliseconds; 10 minutes by default. The request is then really aborted. */
  readonly timeoutMs?: number;
  /** Further tries after a failure that may pass (429, 5xx, network, timeout, malformed answer); 6 by default. */
  readonly maxRetries?: number;
  /** The wait before the first retry is half to all of it, in milliseconds, and doubles each time; 1,000 by default. */
  readonly retryDelayMs?: number;
  /** The longest wait between tries, in milliseconds; 60,000 by default. */
  readonly maxRetryDelayMs?: number;
  /** The longest wait that a server's Retry-After may ask for, in milliseconds; beyond it the action fails at once. 5 minutes by default. */
  readonly maxRetryAfterMs?: number;
}

/** Options of which every one is known. */
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

/** The given options over the default ones. Throws `config.invalid` for one that cannot be. */
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
        hint: counts ? "It is a whole number." : "It is a number above 0.",
      });
    }
    settings[name] = value;
  }
  return settings;
}
