/** Lines whose sizes differ by more than this factor do not share a chart: the smaller one would be flat. */
const widest = 10;

/** The most lines of one chart. */
const longest = 6;

/**
 * Lines of one unit, in groups that one chart can show: the sizes of a group (its greatest absolute values) are within a
 * factor of ten. A line of zeros fits anywhere. The order is kept.
 */
export function scaleGroups<Line extends { readonly ys: readonly number[] }>(lines: readonly Line[]): Line[][] {
  const groups: { least: number; most: number; readonly lines: Line[] }[] = [];
  for (const line of lines) {
    const size = sizeOf(line.ys);
    const group = groups.find(({ least, most, lines: { length } }) => {
      if (length >= longest) return false;
      return size === 0 || most === 0 || Math.max(most, size) <= widest * Math.min(least, size);
    });
    if (group === undefined) {
      groups.push({ least: size === 0 ? Number.POSITIVE_INFINITY : size, most: size, lines: [line] });
      continue;
    }
    group.lines.push(line);
    group.most = Math.max(group.most, size);
    if (size > 0) group.least = Math.min(group.least, size);
  }
  return groups.map((group) => group.lines);
}

function sizeOf(values: readonly number[]): number {
  return values.reduce((size, value) => (Number.isFinite(value) ? Math.max(size, Math.abs(value)) : size), 0);
}
