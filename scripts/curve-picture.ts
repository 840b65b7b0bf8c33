import { shareTick, valueRange } from "../reports/viewer/page/value-range.ts";

/** One line of a picture. */
export interface PictureLine {
  readonly name: string;
  readonly xs: readonly number[];
  readonly ys: readonly number[];
  /** Marks each value, for lines of few values. */
  readonly dots?: boolean;
}

/** The colours of the viewer's charts. Not as variables, which not every program that shows pictures knows. */
const style = `
  :root { color-scheme: light dark; }
  svg { font: 11px system-ui, sans-serif; background: #fff; }
  .grid { stroke: #eceef2; }
  .axis { stroke: #5c6573; opacity: 0.6; }
  .tick { fill: #5c6573; }
  .line { fill: none; stroke: currentColor; stroke-width: 1.75; stroke-linejoin: round; }
  .dot, .name { fill: currentColor; }
  .name { stroke: #fff; stroke-width: 4; paint-order: stroke; }
  .s0 { color: #2563eb; }
  .s1 { color: #c2620a; }
  @media (prefers-color-scheme: dark) {
    svg { background: #111419; }
    .name { stroke: #111419; }
    .grid { stroke: #22272f; }
    .axis { stroke: #9aa4b3; }
    .tick { fill: #9aa4b3; }
    .s0 { color: #6ea8fe; }
    .s1 { color: #f5a54a; }
  }
`;

const [left, right, top, bottom] = [58, 374, 10, 178];
const legendWidth = 160;

/**
 * Draws up to two lines over steps as an SVG. `bounds` are values that no point can exceed, and `marks` are steps with a
 * dashed line.
 */
export function curvePicture(options: {
  readonly title: string;
  readonly lines: readonly PictureLine[];
  readonly marks?: readonly number[];
  readonly bounds: { readonly least: number; readonly most: number };
  /** True if the values are shares, which are shown in per cent. */
  readonly isShare: boolean;
}): string {
  const { title, lines, marks = [], bounds, isShare } = options;
  const values = lines.flatMap(({ ys }) => ys);
  const last = Math.max(1, ...lines.flatMap(({ xs }) => xs));
  const [low, high] = valueRange({ low: Math.min(...values), high: Math.max(...values), bounds });
  const x = (step: number): number => round(left + (step / last) * (right - left));
  const y = (value: number): number => round(bottom - ((value - low) / (high - low)) * (bottom - top));
  const label = (value: number): string => (isShare ? shareTick(value) : String(value));
  const rows = ticks(low, high, 5).map(
    (tick) => `<line class="grid" x1="${left}" x2="${right}" y1="${y(tick)}" y2="${y(tick)}"/>
<text class="tick" x="${left - 8}" y="${y(tick) + 4}" text-anchor="end">${label(tick)}</text>`,
  );
  const columns = ticks(0, last, 6).map(
    (tick) => `<line class="axis" x1="${x(tick)}" x2="${x(tick)}" y1="${bottom}" y2="${bottom + 4}"/>
<text class="tick" x="${x(tick)}" y="${bottom + 17}" text-anchor="middle">${tick}</text>`,
  );
  const dashes = marks.map(
    (mark) => `<line class="axis" stroke-dasharray="3" x1="${x(mark)}" x2="${x(mark)}" y1="${top}" y2="${bottom}"/>`,
  );
  const curves = lines.map(({ xs, ys, dots }, i) => {
    if (xs.length === 0) return [];
    const points = xs.map((step, place) => [x(step), y(ys[place]!)] as const);
    const circles = points.map(([cx, cy]) => `<circle class="dot s${i}" cx="${cx}" cy="${cy}" r="3"/>`);
    return [
      `<path class="line s${i}" d="M${points.map((point) => point.join(" ")).join("L")}"/>`,
      ...(dots ? circles : []),
    ];
  });
  // At the upper left or the lower right, where the curves leave more room.
  const places = lines.flatMap(({ xs, ys }) => xs.map((step, place) => ({ at: x(step), height: y(ys[place]!) })));
  const above = Math.min(...places.flatMap(({ at, height }) => (at < left + legendWidth ? height : []))) - top;
  const below = bottom - Math.max(...places.flatMap(({ at, height }) => (at > right - legendWidth ? height : [])));
  const isAbove = above >= below;
  const [textX, textY, anchor] = isAbove ? [left + 8, top + 14, "start"] : [right - 8, bottom - 24, "end"];
  const legend = lines.map(
    ({ name }, i) =>
      `<text class="name s${i}" x="${textX}" y="${textY + 16 * i}" text-anchor="${anchor}">${name}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 210" width="520" height="273" role="img">
<title>${title}</title>
<style>${style}</style>
${[...rows, ...columns].join("\n")}
<line class="axis" x1="${left}" x2="${right}" y1="${bottom}" y2="${bottom}"/>
<text class="tick" x="${right}" y="207" text-anchor="end">step</text>
${[...dashes, ...curves.flat(), ...legend].join("\n")}
</svg>
`;
}

/** Returns about `count` round values between two bounds: steps of 1, 2 or 5 times a power of ten. */
function ticks(least: number, most: number, count: number): number[] {
  const rough = (most - least) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999)!;
  const first = Math.ceil(least / step);
  return Array.from({ length: Math.floor(most / step) - first + 1 }, (_, i) =>
    Number(((first + i) * step).toPrecision(12)),
  );
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
