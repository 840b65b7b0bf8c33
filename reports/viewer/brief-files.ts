import { closeSync, openSync, readSync, statSync } from "node:fs";
import { setImmediate } from "node:timers/promises";

// A list of thousands of runs reads tens of thousands of small files. Synchronous reads take a tenth of the time of
// asynchronous ones. The caller lets other requests run in between.

/** Identifies a version of a file's content. */
export interface FileStamp {
  readonly size: number;
  readonly mtimeMs: number;
}

/** Returns the stamp of a file. Undefined if the file does not exist. */
export function fileStamp(path: string): FileStamp | undefined {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    return found?.isFile() === true ? { size: found.size, mtimeMs: found.mtimeMs } : undefined;
  } catch {
    return undefined;
  }
}

/** True if two stamps belong to the same content. */
export function sameStamp(one: FileStamp | undefined, other: FileStamp | undefined): boolean {
  return one?.size === other?.size && one?.mtimeMs === other?.mtimeMs;
}

/**
 * Reads parts of a file as text, in order. A part is shorter if the file ends in it. Throws the errors of `openSync`.
 */
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

/** The time after which a loop over files lets other work run. */
const sliceMs = 10;

/** Returns a function that lets other work run if the last time was long ago. */
export function breaks(): () => Promise<void> | undefined {
  let last = performance.now();
  return () => {
    if (performance.now() - last < sliceMs) return undefined;
    return setImmediate().then(() => {
      last = performance.now();
    });
  };
}
