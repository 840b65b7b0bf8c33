import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { folderEntries } from "../../sandbox/index.ts";
import type { TarEntry } from "../../src/core/files/tar-archive.ts";

/** The files whose line ends Harbor changes before it runs tests from Windows. */
const scripts = /\.(?:sh|py)$/;

/** True if the first line of a script ends in CRLF, as on Windows. Linux does not find the program that it names. */
export function hasWindowsLines(script: Buffer): boolean {
  const end = script.indexOf("\n");
  return end > 0 && script[end - 1] === 0x0d;
}

/** Returns a script with the line ends of Linux. The other bytes stay as they are. */
function unixLines(script: Buffer): Buffer {
  return Buffer.from(script.toString("latin1").replaceAll("\r\n", "\n"), "latin1");
}

/**
 * Returns the files of a folder of scripts with the line ends of Linux, if the script `main` has those of Windows.
 * Files of other types stay as they are, and so does everything if Linux can run `main`.
 */
export function withUnixLines(
  files: readonly (readonly [path: string, bytes: Buffer])[],
  main: string,
): readonly (readonly [path: string, bytes: Buffer])[] {
  const first = files.find(([path]) => path === main)?.[1];
  if (first === undefined || !hasWindowsLines(first)) return files;
  return files.map(([path, bytes]) => [path, scripts.test(path) ? unixLines(bytes) : bytes]);
}

/** Yields the entries of a folder of scripts, changed as {@link withUnixLines} does. */
export async function* scriptEntries(folder: string, main: string): AsyncGenerator<TarEntry> {
  const isChanged = hasWindowsLines(await readFile(join(folder, main)));
  for await (const entry of folderEntries(folder)) {
    if (!isChanged || entry.kind !== "file" || !scripts.test(entry.path)) yield entry;
    else {
      const content = unixLines(await readFile(join(folder, entry.path)));
      yield { ...entry, size: content.length, content: [content] };
    }
  }
}
