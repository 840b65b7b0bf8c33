import { createReadStream } from "node:fs";
import { lstat, readdir, readlink } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";

/** An entry of an archive. Its path is relative and has no leading slash. */
export type TarEntry =
  | { readonly path: string; readonly mode: number; readonly kind: "folder" }
  | { readonly path: string; readonly mode: number; readonly kind: "link"; readonly target: string }
  | {
      readonly path: string;
      readonly mode: number;
      readonly kind: "file";
      readonly size: number;
      readonly content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
    };

const block = 512;

/** Writes entries as a tar archive, which belong to root. A long path gets a header in the extended format. */
export function tarArchive(entries: AsyncIterable<TarEntry> | Iterable<TarEntry>): Readable {
  return Readable.from(archiveParts(entries), { objectMode: false });
}

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
 * for a greater one and undefined for anything else, such as a link.
 */
export async function firstFile(
  archive: AsyncIterable<Uint8Array>,
  limit: number,
): Promise<Buffer | "too-large" | undefined> {
  let bytes = Buffer.alloc(0);
  for await (const part of archive) {
    bytes = Buffer.concat([bytes, part]);
    const size = bytes.length < block ? undefined : fileSize(bytes);
    if (size === undefined && bytes.length >= block) return undefined;
    if (size === undefined) continue;
    if (size > limit) return "too-large";
    if (bytes.length >= block + size) return bytes.subarray(block, block + size);
  }
  return undefined;
}

function fileSize(header: Buffer): number | undefined {
  const type = String.fromCharCode(header[156]!);
  if (type !== "0" && type !== "\0") return undefined;
  const size = Number.parseInt(header.toString("latin1", 124, 136), 8);
  return Number.isNaN(size) ? Infinity : size;
}

async function* archiveParts(entries: AsyncIterable<TarEntry> | Iterable<TarEntry>): AsyncGenerator<Uint8Array> {
  for await (const entry of entries) {
    const path = entry.kind === "folder" ? `${entry.path}/` : entry.path;
    const target = entry.kind === "link" ? entry.target : "";
    const records = [...longRecord("path", path), ...longRecord("linkpath", target)];
    if (records.length > 0) {
      const content = Buffer.from(records.join(""));
      yield header({ path: "extended", target: "", mode: 0o644, size: content.length, type: "x" });
      yield* padded([content], content.length);
    }
    const types = { folder: "5", link: "2", file: "0" } as const;
    const size = entry.kind === "file" ? entry.size : 0;
    yield header({ path, target, mode: entry.mode, size, type: types[entry.kind] });
    if (entry.kind === "file") yield* padded(entry.content, size);
  }
  yield Buffer.alloc(2 * block);
}

/** A record of the extended format: its length, which counts itself, then `name=value`. */
function longRecord(name: string, value: string): string[] {
  if (Buffer.byteLength(value) <= 100) return [];
  const rest = Buffer.byteLength(` ${name}=${value}\n`);
  let length = rest;
  while (length !== rest + String(length).length) length = rest + String(length).length;
  return [`${length} ${name}=${value}\n`];
}

function header(options: {
  readonly path: string;
  readonly target: string;
  readonly mode: number;
  readonly size: number;
  readonly type: string;
}): Buffer {
  const { path, target, mode, size, type } = options;
  const bytes = Buffer.alloc(block);
  const octal = (value: number, digits: number): string => `${value.toString(8).padStart(digits, "0")}\0`;
  bytes.set(Buffer.from(path).subarray(0, 100), 0);
  bytes.write(octal(mode, 7), 100);
  bytes.write(octal(0, 7), 108);
  bytes.write(octal(0, 7), 116);
  bytes.write(octal(size, 11), 124);
  bytes.write(octal(0, 11), 136);
  bytes.write("        ", 148);
  bytes.write(type, 156);
  bytes.set(Buffer.from(target).subarray(0, 100), 157);
  bytes.write("ustar\u000000", 257, "latin1");
  const sum = bytes.reduce((total, byte) => total + byte, 0);
  bytes.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return bytes;
}

async function* padded(
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  size: number,
): AsyncGenerator<Uint8Array> {
  let written = 0;
  for await (const part of content) {
    // A file that grows while it is read keeps the size of its header.
    const kept = part.subarray(0, size - written);
    written += kept.length;
    if (kept.length > 0) yield kept;
    if (written === size) break;
  }
  yield Buffer.alloc(size - written + ((block - (size % block)) % block));
}
