import { createReadStream } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

const block = 512;

/** The largest file of a ustar archive: its size has 11 octal digits. */
const maxFileBytes = 8 ** 11 - 1;

/** A file of an archive. */
interface TarFile {
  readonly name: string;
  readonly size: number;
  read(): AsyncIterable<Uint8Array>;
}

/** Yields the bytes of a tar archive (POSIX.1-1988 ustar) with the files of a folder, and an empty `checkpoint_complete`. */
export async function* tarOfFolder(folder: string): AsyncGenerator<Uint8Array> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  const files = await Promise.all(
    names.toSorted().map(async (name): Promise<TarFile> => {
      const path = join(folder, name);
      return { name, size: (await stat(path)).size, read: () => createReadStream(path) };
    }),
  );
  yield* tar([...files, { name: "checkpoint_complete", size: 0, read: async function* () {} }]);
}

async function* tar(files: readonly TarFile[]): AsyncGenerator<Uint8Array> {
  for (const { name, size, read } of files) {
    yield header(name, size);
    yield* read();
    yield new Uint8Array((block - (size % block)) % block);
  }
  yield new Uint8Array(2 * block);
}

function header(name: string, size: number): Uint8Array {
  if (size > maxFileBytes || Buffer.byteLength(name) > 100)
    throw new RangeError(`${name} does not fit into an archive.`);
  const bytes = Buffer.alloc(block);
  const octal = (value: number, digits: number): string => `${value.toString(8).padStart(digits, "0")}\0`;
  bytes.write(name, 0);
  bytes.write(octal(0o644, 7), 100);
  bytes.write(octal(0, 7), 108);
  bytes.write(octal(0, 7), 116);
  bytes.write(octal(size, 11), 124);
  bytes.write(octal(0, 11), 136);
  bytes.write("        0", 148);
  bytes.write("ustar\x0000", 257);
  // The checksum is the sum of the header's bytes, with blanks in its own place.
  const sum = bytes.reduce((total, byte) => total + byte, 0);
  bytes.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return bytes;
}
