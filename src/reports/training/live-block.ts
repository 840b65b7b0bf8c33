import { stripVTControlCharacters } from "node:util";
import { displayWidth } from "./terminal-text.ts";

/** What a live block needs of a terminal: `process.stdout` has it. */
export interface TerminalStream {
  write(text: string): boolean;
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  readonly writableNeedDrain?: boolean;
}

/** Lines at the bottom of a terminal that are redrawn in place. */
export interface LiveBlock {
  /** Replaces the block by `lines`, after writing `above` where it stays: in the scrollback. */
  draw(lines: readonly string[], above?: readonly string[]): void;
}

/**
 * A block on `stream`. Each draw is a single write. It leaves the cursor on the line below the block and sets no
 * terminal mode, so that nothing has to be restored when the process dies.
 */
export function createLiveBlock(stream: TerminalStream): LiveBlock {
  let widths: number[] = [];
  return {
    draw: (lines, above = []) => {
      const columns = Math.max(1, stream.columns || 80);
      // A terminal that became narrower has wrapped what was drawn before: count the rows it takes now.
      const rows = widths.reduce((sum, width) => sum + Math.max(1, Math.ceil(width / columns)), 0);
      // A block taller than the screen could not be redrawn: the cursor stops at the top.
      const shown = lines.slice(0, Math.max(1, (stream.rows ?? 24) - 1));
      const up = rows > 0 ? `\u001B[${Math.min(rows, Math.max(1, (stream.rows ?? 24) - 1))}A` : "";
      const text = [...above, ...shown].map((line) => `${line}\u001B[K\n`).join("");
      stream.write(`\r${up}${text}\u001B[J`);
      widths = shown.map((line) => displayWidth(stripVTControlCharacters(line)));
    },
  };
}
