import { sum } from "../../src/core/statistics.ts";

const bars = "▁▂▃▄▅▆▇█";

/**
 * Draws values as a row of at most `width` bars. The lowest value has the shortest bar. If there are more values than
 * bars, they are averaged in equal buckets. A value (or bucket) that is not finite is `×`.
 */
export function sparkline(values: readonly number[], width: number): string {
  const count = Math.min(values.length, width);
  const buckets = Array.from({ length: count }, (_, i) => {
    const bucket = values.slice(Math.floor((i * values.length) / count), Math.floor(((i + 1) * values.length) / count));
    return sum(bucket) / bucket.length;
  });
  const finite = buckets.filter(Number.isFinite);
  // Halved, so that the range of any two numbers is finite.
  const minimum = Math.min(...finite) / 2;
  const range = Math.max(...finite) / 2 - minimum;
  return buckets
    .map((value) => {
      if (!Number.isFinite(value)) return "×";
      if (!(range > 0)) return bars[3];
      return bars[Math.min(bars.length - 1, Math.floor(((value / 2 - minimum) / range) * bars.length))];
    })
    .join("");
}
