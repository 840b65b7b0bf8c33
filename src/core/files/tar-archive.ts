import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type Pack, pack } from "tar-stream";

/** An entry of a tar archive. Its path is relative and has no leading slash. */
export type TarEntry =
  | { readonly path: string; readonly mode: number; readonly kind: "folder" }
  | { readonly path: string; readonly mode: number; readonly kind: "link"; readonly target: string }
  | {
      readonly path: string;
      readonly mode: number;
      readonly kind: "file";
      /** In bytes. Content beyond it is cut off, and missing content becomes zeros. */
      readonly size: number;
      readonly content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
    };

/**
 * Writes entries as a tar archive. Files belong to root and have the time 0, so that equal entries give equal bytes. If
 * an entry's content fails, the stream fails with its error.
 */
export function tarArchive(entries: AsyncIterable<TarEntry> | Iterable<TarEntry>): Readable {
  return Readable.from(archiveParts(entries), { objectMode: false });
}

async function* archiveParts(entries: AsyncIterable<TarEntry> | Iterable<TarEntry>): AsyncGenerator<Uint8Array> {
  const archive = pack();
  addAll(archive, entries).catch((error: Error) => archive.destroy(error));
  for await (const part of archive) yield part as Buffer;
}

async function addAll(archive: Pack, entries: AsyncIterable<TarEntry> | Iterable<TarEntry>): Promise<void> {
  for await (const entry of entries) {
    const { path, mode } = entry;
    const header = { name: path, mode, mtime: new Date(0) };
    if (entry.kind === "folder") archive.entry({ ...header, name: `${path}/`, type: "directory" });
    else if (entry.kind === "link") archive.entry({ ...header, type: "symlink", linkname: entry.target });
    else {
      const { size, content } = entry;
      await pipeline(exactly(content, size), archive.entry({ ...header, type: "file", size }));
    }
  }
  archive.finalize();
}

/** Yields exactly `size` bytes, because a file can grow or shrink after its header is written. */
async function* exactly(
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  size: number,
): AsyncGenerator<Uint8Array> {
  let written = 0;
  for await (const part of content) {
    const kept = part.subarray(0, size - written);
    written += kept.length;
    if (kept.length > 0) yield kept;
    if (written === size) return;
  }
  for (; written < size; written += zeros.length) yield zeros.subarray(0, size - written);
}

const zeros = new Uint8Array(65_536);
