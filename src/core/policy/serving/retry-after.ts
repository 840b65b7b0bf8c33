/** Header values by lower-case name. */
type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

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
