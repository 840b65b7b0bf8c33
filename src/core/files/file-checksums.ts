import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { z } from "zod";

/** The length of a file in bytes, and its SHA-256 in hexadecimal. */
export interface FileChecksum {
  readonly bytes: number;
  readonly sha256: string;
}

/** Checksums by path in a folder, with `/` as the separator. */
export type FileChecksums = Readonly<Record<string, FileChecksum>>;

/** The form of {@link FileChecksums} in a file. */
export const fileChecksumsSchema = z.record(z.string(), z.object({ bytes: z.int().min(0), sha256: z.string() }));

/** Returns the checksums of all files in a folder and its subfolders. */
export async function fileChecksums(folder: string): Promise<FileChecksums> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const checksums: Record<string, FileChecksum> = {};
  for (const path of paths.toSorted()) {
    const name = relative(folder, path).split(sep).join("/");
    checksums[name] = { bytes: (await stat(path)).size, sha256: await fileHash(path) };
  }
  return checksums;
}

/** Describes the first difference between a folder and its checksums. Returns undefined if there is none. */
export async function damageOf(folder: string, checksums: FileChecksums): Promise<string | undefined> {
  for (const [name, { bytes, sha256 }] of Object.entries(checksums)) {
    const path = join(folder, name);
    try {
      const { size } = await stat(path);
      if (size !== bytes) return changedSize(name, size, bytes);
      if ((await fileHash(path)) !== sha256) return changedBytes(name);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      return code === "ENOENT" ? `${name} is missing` : `${name} cannot be read: ${message}`;
    }
  }
  return undefined;
}

/** Describes a file that has another size than its checksum. */
export function changedSize(name: string, size: number, bytes: number): string {
  return `${name} has ${size} bytes instead of ${bytes}`;
}

/** Describes a file that has other bytes than its checksum. */
export function changedBytes(name: string): string {
  return `the bytes of ${name} have changed`;
}

async function fileHash(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) hash.update(chunk as Buffer);
  return hash.digest("hex");
}
