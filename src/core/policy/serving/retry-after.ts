/** A header's value, by its lower-case name. */
type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Milliseconds that a server asks to wait (RFC 9110, section 10.2.3, and `retry-after-ms`); undefined where it does not. */
export function retryAfterMs(headers: Headers, now: number = Date.now()): number | undefined {
  const milliseconds = number(headers["retry-after-ms"]);
  if (milliseconds !== undefined) return milliseconds;
  const value = headers["retry-after"];
  const seconds = number(value);
  if (seconds !== undefined) return seconds * 1000;
  // All forms of a date begin with a day's name; Date.parse would take almost anything.
  const date = typeof value === "string" && /^[A-Z][a-z]{2,8},? /.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

function number(value: Headers[string]): number | undefined {
  return typeof value === "string" && /^\s*\d+(\.\d+)?\s*$/.test(value) ? Number(value) : undefined;
}
