import { stripVTControlCharacters } from "node:util";
import { displayWidth } from "./terminal-text.ts";

/** The part of a terminal stream, such as `process.stdout`, that a live block uses. */
export interface TerminalStream {
  write(text: string): boolean;
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  readonly writableNeedDrain?: boolean;
}

/** Lines at the bottom of a terminal that are updated in place. */
export interface LiveBlock {
  /** Replaces the block by `lines`. Writes `above` above it first, where it remains in the scrollback. */
  draw(lines: readonly string[], above?: readonly string[]): void;
}

/**
 * Creates a block on `stream`. Each draw is a single write. It leaves the cursor on the line below the block and sets
 * no terminal mode, so nothing must be restored if the process dies.
 */
export function createLiveBlock(stream: TerminalStream): LiveBlock {
  let widths: number[] = [];
  return {
    draw: (lines, above = []) => {
      const columns = Math.max(1, stream.columns || 80);
      // A terminal that became narrower has wrapped the previous lines, so their current rows are counted.
      const rows = widths.reduce((sum, width) => sum + Math.max(1, Math.ceil(width / columns)), 0);
      // A block taller than the screen cannot be updated, because the cursor stops at the top.
      const shown = lines.slice(0, Math.max(1, (stream.rows ?? 24) - 1));
      const up = rows > 0 ? `\u001B[${Math.min(rows, Math.max(1, (stream.rows ?? 24) - 1))}A` : "";
      const text = [...above, ...shown].map((line) => `${line}\u001B[K\n`).join("");
      stream.write(`\r${up}${text}\u001B[J`);
      widths = shown.map((line) => displayWidth(stripVTControlCharacters(line)));
    },
  };
}
