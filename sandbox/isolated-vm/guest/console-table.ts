/** What `console.table` uses of the guest. */
export interface ConsoleTableOptions {
  readonly inspect: (value: unknown, choices: object) => string;
  readonly log: (value: unknown) => void;
}

/**
 * Creates `console.table`, which prints as Node does: one row for each item, one column for each key. Sent to an isolate
 * as source text, so it refers to nothing but its argument.
 */
export function createConsoleTable(options: ConsoleTableOptions): (rows: unknown, columns?: readonly string[]) => void {
  const { inspect, log } = options;
  const wide =
    /[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{1F300}-\u{1F64F}\u{1F900}-\u{1F9FF}\u{20000}-\u{3FFFD}]/gu;
  const invisible = /[\p{Mn}\p{Me}\p{Cf}\p{Cc}]/gu;
  /** The columns of a terminal that a text takes. */
  const widthOf = (text: string): number => [...text.replace(invisible, "").replace(wide, "xx")].length;
  return (rows, columns) => {
    if (typeof rows !== "object" || rows === null) {
      log(rows);
      return;
    }
    const show = (value: unknown): string => {
      const isLarge =
        typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length > 2;
      return inspect(value, { depth: isLarge ? -1 : 0, maxArrayLength: 3, breakLength: Infinity });
    };
    const isMap = rows instanceof Map;
    const isPlain = !isMap && !(rows instanceof Set);
    const entries: [string, unknown][] = isPlain
      ? Object.entries(rows)
      : [...rows].map((item, index) => [String(index), item]);
    const keys: string[] = [...(columns ?? [])];
    const values: string[] = [];
    const cells = entries.map(([, item]) => {
      const isRow = !isMap && typeof item === "object" && item !== null;
      if (isMap) return { Key: show((item as unknown[])[0]), Values: show((item as unknown[])[1]) };
      if (!isRow) {
        values.push("Values");
        return { Values: show(item) };
      }
      if (columns === undefined) for (const key of Object.keys(item)) if (!keys.includes(key)) keys.push(key);
      const own = keys.filter((key) => Object.hasOwn(item, key));
      return Object.fromEntries(own.map((key) => [key, show((item as Record<string, unknown>)[key])]));
    });
    const names = isMap ? ["Key", "Values"] : [...keys, ...(values.length > 0 ? ["Values"] : [])];
    const head = [isPlain ? "(index)" : "(iteration index)", ...names];
    const body = entries.map(([label], row) => [
      label,
      ...names.map((name) => (cells[row] as Record<string, string>)[name] ?? ""),
    ]);
    const widths = head.map(
      (name, column) => Math.max(...[head, ...body].map((row) => widthOf(row[column]!)), widthOf(name)) + 2,
    );
    const line = (row: readonly string[]): string => {
      return `│ ${row.map((cell, column) => cell + " ".repeat(widths[column]! - 1 - widthOf(cell))).join("│ ")}│\n`;
    };
    const rule = (left: string, middle: string, right: string): string =>
      `${left}${widths.map((width) => "─".repeat(width)).join(middle)}${right}`;
    const text = `${rule("┌", "┬", "┐")}\n${line(head)}${rule("├", "┼", "┤")}\n${body.map(line).join("")}${rule("└", "┴", "┘")}`;
    log(text);
  };
}
