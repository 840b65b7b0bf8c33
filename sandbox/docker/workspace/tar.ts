import { createReadStream } from "node:fs";
import { lstat, readdir, readlink } from "node:fs/promises";
import { join } from "node:path";
import { pipeline, type Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { extract } from "tar-stream";
import type { TarEntry } from "../../../src/core/files/tar-archive.ts";

/** Yields the files, folders and links of a folder, under `prefix`. Links are not followed. */
export async function* folderEntries(folder: string, prefix = ""): AsyncGenerator<TarEntry> {
  for (const name of (await readdir(folder)).toSorted()) {
    const file = join(folder, name);
    const path = prefix === "" ? name : `${prefix}/${name}`;
    const found = await lstat(file);
    const mode = found.mode & 0o777;
    if (found.isDirectory()) {
      yield { path, mode, kind: "folder" };
      yield* folderEntries(file, path);
    } else if (found.isSymbolicLink()) {
      yield { path, mode, kind: "link", target: await readlink(file) };
    } else if (found.isFile()) {
      yield { path, mode, kind: "file", size: found.size, content: createReadStream(file) };
    }
  }
}

/**
 * Returns the content of an archive's first entry if it is a plain file of at most `limit` bytes. Returns `"too-large"`
 * for a larger one and undefined for anything else, such as a link. It reads no further than this entry. Rejects if the
 * archive is damaged or cut off.
 */
export async function firstFile(archive: Readable, limit: number): Promise<Buffer | "too-large" | undefined> {
  const entries = extract();
  // The iteration below reports errors.
  pipeline(archive, entries, () => undefined);
  for await (const entry of entries) {
    const { type, size = 0 } = entry.header;
    if (type !== "file") return undefined;
    return size > limit ? "too-large" : await buffer(entry);
  }
  return undefined;
}
