/** What `console.table` uses of the guest. */
export interface ConsoleTableOptions {
  readonly inspect: (value: unknown, choices: object) => string;
  readonly log: (value: unknown) => void;
  readonly write: (text: string) => void;
}

/**
 * Creates `console.table`, which prints as Node does: one row for each item, one column for each key. Sent to an isolate
 * as source text, so it refers to nothing but its argument.
 */
export function createConsoleTable(options: ConsoleTableOptions): (rows: unknown, columns?: readonly string[]) => void {
  const { inspect, log, write } = options;
  return (rows, columns) => {
    if (typeof rows !== "object" || rows === null) {
      log(rows);
      return;
    }
    const show = (value: unknown): string => inspect(value, { depth: 0, breakLength: Infinity });
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
      (name, column) => Math.max(...[head, ...body].map((row) => row[column]!.length), name.length) + 2,
    );
    const line = (row: readonly string[]): string => {
      return `│ ${row.map((cell, column) => cell.padEnd(widths[column]! - 1)).join("│ ")}│\n`;
    };
    const rule = (left: string, middle: string, right: string): string =>
      `${left}${widths.map((width) => "─".repeat(width)).join(middle)}${right}`;
    const text = `${rule("┌", "┬", "┐")}\n${line(head)}${rule("├", "┼", "┤")}\n${body.map(line).join("")}${rule("└", "┴", "┘")}\n`;
    write(text);
  };
}
