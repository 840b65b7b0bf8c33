import type { JSX } from "preact";

const [width, height] = [70, 18];

/** A small line of a figure's values, without axes. */
export function TrendLine({ values }: { readonly values: readonly number[] }): JSX.Element {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const points = values.map((value, place) => {
    const share = high > low ? (value - low) / (high - low) : 0.5;
    return `${(2 + (place / (values.length - 1)) * (width - 4)).toFixed(1)},${(height - 2 - share * (height - 4)).toFixed(1)}`;
  });
  return (
    <svg class="trend" width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
      <polyline points={points.join(" ")} />
    </svg>
  );
}
