import { closeSync, openSync, readSync, statSync } from "node:fs";
import { setImmediate } from "node:timers/promises";

/*
 * A list of thousands of runs looks at tens of thousands of small files. Reading in place takes a tenth of the time of
 * asynchronous reads; the caller lets other requests through between runs.
 */

/** What tells whether a file has changed. */
export interface FileStamp {
  readonly size: number;
  readonly mtimeMs: number;
}

/** The stamp of a file; undefined if there is none. */
export function fileStamp(path: string): FileStamp | undefined {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    return found?.isFile() === true ? { size: found.size, mtimeMs: found.mtimeMs } : undefined;
  } catch {
    return undefined;
  }
}

/** Whether two stamps are of the same content. */
export function sameStamp(one: FileStamp | undefined, other: FileStamp | undefined): boolean {
  return one?.size === other?.size && one?.mtimeMs === other?.mtimeMs;
}

/** Parts of a file as text, in order; each is shorter if the file ends in it. Throws as `openSync` does. */
export function readParts(
  path: string,
  parts: readonly { readonly from: number; readonly length: number }[],
): string[] {
  const file = openSync(path, "r");
  try {
    return parts.map(({ from, length }) => {
      const buffer = length <= shared.length ? shared : Buffer.allocUnsafe(length);
      let read = 0;
      while (read < length) {
        const more = readSync(file, buffer, read, length - read, from + read);
        if (more === 0) break;
        read += more;
      }
      return buffer.toString("utf8", 0, read);
    });
  } finally {
    closeSync(file);
  }
}

/** One buffer for all small reads. */
const shared = Buffer.allocUnsafeSlow(1 << 16);

/** How long the loop over files runs before it lets others run. */
const sliceMs = 10;

/** A function that lets others run, if the last time was long ago. */
export function breaks(): () => Promise<void> | undefined {
  let last = performance.now();
  return () => {
    if (performance.now() - last < sliceMs) return undefined;
    return setImmediate().then(() => {
      last = performance.now();
    });
  };
}
