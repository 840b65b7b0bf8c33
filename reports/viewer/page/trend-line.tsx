import type { JSX } from "preact";
import { formatNumber } from "../../../src/core/text/format-numbers.ts";
import type { RunSummary } from "../view-source.ts";

const [width, height] = [70, 18];

/** A small line of a metric over a training's steps, with the metric's name. Its title has the first and last value. */
export function TrendLine({
  trend: { of, values },
}: {
  readonly trend: NonNullable<RunSummary["trend"]>;
}): JSX.Element {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const points = values.map((value, place) => {
    const share = high > low ? (value - low) / (high - low) : 0.5;
    return `${(2 + (place / (values.length - 1)) * (width - 4)).toFixed(1)},${(height - 2 - share * (height - 4)).toFixed(1)}`;
  });
  const [first, last] = [values[0]!, values.at(-1)!].map(formatNumber);
  return (
    <span class="trend" title={`${of} of the training steps, from ${first} to ${last}`}>
      <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
        <polyline points={points.join(" ")} />
      </svg>
      <span class="soft">{of}</span>
    </span>
  );
}
