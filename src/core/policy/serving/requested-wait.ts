import { isJsonObject, type Json } from "../../../contract/json.ts";
import { retryAfterMs } from "./retry-after.ts";

const unitMs = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const;

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
  readonly headers: Parameters<typeof retryAfterMs>[0];
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
