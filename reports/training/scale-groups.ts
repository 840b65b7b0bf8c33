/** The maximum ratio of the sizes of lines in one chart. A much smaller line would be flat. */
const widest = 10;

/** The maximum number of lines of one chart. */
const longest = 6;

/**
 * Groups lines of the same unit into charts. The sizes (highest absolute values) in a group are within a factor of ten.
 * A line of zeros fits into any group. The order is kept.
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

/** Divides lines into charts without regard to their scale, so that their colours differ. */
export function lineGroups<Line>(lines: readonly Line[]): Line[][] {
  const count = Math.ceil(lines.length / longest);
  return Array.from({ length: count }, (_, i) => lines.slice(i * longest, (i + 1) * longest));
}

function sizeOf(values: readonly number[]): number {
  return values.reduce((size, value) => (Number.isFinite(value) ? Math.max(size, Math.abs(value)) : size), 0);
}
