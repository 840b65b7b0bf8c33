import { isJsonObject, type Json } from "../../../contract/json.ts";

const unitMs = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const;

/** Header values by lower-case name. */
type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Returns the wait before a retry. It doubles with each retry, and half of it is random, so that clients that failed
 * together do not retry together.
 */
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

/**
 * Returns the wait that a server asks for in milliseconds: in a header, in a `RetryInfo` of Google's error model, or in
 * the words of its message ("Please try again in 7m12.5s", "Please retry after 6 seconds"). Undefined if it asks for
 * none.
 */
export function requestedWaitMs({
  headers,
  body,
  text,
}: {
  readonly headers: Headers;
  readonly body: Json | undefined;
  readonly text: string;
}): number | undefined {
  return retryAfterMs(headers) ?? retryInfoMs(body) ?? worded(text);
}

function retryInfoMs(value: Json | undefined): number | undefined {
  if (Array.isArray(value)) {
    for (const item of value) {
      const found = retryInfoMs(item);
      if (found !== undefined) return found;
    }
  }
  if (!isJsonObject(value)) return undefined;
  if (typeof value.retryDelay === "string") return durationMs(value.retryDelay);
  return retryInfoMs(value.error) ?? retryInfoMs(value.details);
}

function worded(text: string): number | undefined {
  const unit = "(?:ms|milliseconds?|hours?|h|minutes?|mins?|m|seconds?|secs?|s)(?![a-z])";
  const asked = new RegExp(
    `(?:try again|retry|wait)(?: in| after| for)?(?: at least)? ((?:\\d+(?:\\.\\d+)? ?${unit} ?)+)`,
    "i",
  );
  const duration = asked.exec(text)?.[1];
  return duration === undefined ? undefined : durationMs(duration);
}

/** Reads durations such as `34.07s`, `7m12.5s`, `20ms` and `6 seconds`. */
function durationMs(text: string): number | undefined {
  let total: number | undefined;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?) ?(ms|mil|[hms])/gi)) {
    const name = unit!.toLowerCase() === "mil" ? "ms" : (unit!.toLowerCase() as keyof typeof unitMs);
    total = (total ?? 0) + Number(amount) * unitMs[name];
  }
  return total;
}

/**
 * Returns the wait that a server asks for in milliseconds (RFC 9110, section 10.2.3, and `retry-after-ms`). Undefined
 * if it asks for none.
 */
export function retryAfterMs(headers: Headers, now: number = Date.now()): number | undefined {
  const milliseconds = number(headers["retry-after-ms"]);
  if (milliseconds !== undefined) return milliseconds;
  const value = headers["retry-after"];
  const seconds = number(value);
  if (seconds !== undefined) return seconds * 1000;
  // All date forms begin with the name of a day. Date.parse alone accepts almost anything.
  const date = typeof value === "string" && /^[A-Z][a-z]{2,8},? /.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

function number(value: Headers[string]): number | undefined {
  return typeof value === "string" && /^\s*\d+(\.\d+)?\s*$/.test(value) ? Number(value) : undefined;
}

/** Waits. Rejects with the signal's reason on abort. */
export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
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
