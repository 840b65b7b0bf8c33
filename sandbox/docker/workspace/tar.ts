import { createReadStream, createWriteStream } from "node:fs";
import { lstat, mkdir, readdir, readlink, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline, type Readable, Transform } from "node:stream";
import { buffer } from "node:stream/consumers";
import { pipeline as piped } from "node:stream/promises";
import { extract } from "tar-stream";
import { writeFailure } from "../../../src/contract/errors/write-failed.ts";
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

/** Says if an archive of a folder has more than folders. An archive of anything else, such as a link, has no files. */
export async function hasFiles(archive: Readable): Promise<"files" | "none"> {
  const entries = extract();
  // The iteration below reports errors.
  pipeline(archive, entries, () => undefined);
  let isFolder = false;
  for await (const entry of entries) {
    const { type } = entry.header;
    if (type !== "directory") return isFolder ? "files" : "none";
    isFolder = true;
    entry.resume();
  }
  return "none";
}

/** What became of files that were to be saved. */
export type SavedFiles = "files" | "none" | "too-large" | { readonly failure: string };

/**
 * Writes an archive of a folder to a file, completely or not at all: not if it has no files or too many bytes, or if the
 * file cannot be written. Rejects if the archive cannot be read.
 */
export async function saveFiles(
  archive: Readable,
  { file, maxBytes }: { readonly file: string; readonly maxBytes: number },
): Promise<SavedFiles> {
  const partial = `${file}.partial`;
  let left = maxBytes;
  const counted = new Transform({
    transform: (part: Buffer, _, done) => {
      left -= part.length;
      done(left < 0 ? new Error("The files are too large.") : null, part);
    },
  });
  try {
    await mkdir(dirname(file), { recursive: true });
    await piped(archive, counted, createWriteStream(partial));
    const found = await hasFiles(createReadStream(partial));
    if (found === "files") await rename(partial, file);
    return found;
  } catch (error) {
    if (left < 0) return "too-large";
    const { syscall = "" } = error as NodeJS.ErrnoException;
    if (["mkdir", "open", "write", "rename"].includes(syscall)) return { failure: writeFailure(error).reason };
    throw error;
  } finally {
    await rm(partial, { force: true });
  }
}
