import { createHash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import path from "node:path";
import { LyceumError } from "../../../src/contract/errors/lyceum-error.ts";
import { changedBytes, changedSize } from "../../../src/core/files/file-checksums.ts";
import { assertFile, hasCode, malformedFile } from "../../../src/core/tokens/model-file.ts";
import { weightsChecksum } from "./model-checksums.ts";

const maximumReadBytes = 2 ** 30;
const chunkBytes = 4 * 1024 * 1024;

/**
 * A weights file that is open for reading. If its folder has checksums, it is hashed while it is read: a file that is
 * read in the order of its bytes is read once.
 */
export class WeightsFile {
  readonly path: string;
  readonly size: number;
  readonly #handle: FileHandle;
  readonly #checksum: Awaited<ReturnType<typeof weightsChecksum>>;
  readonly #hash = createHash("sha256");
  /** The number of bytes from the beginning of the file that are in the hash. */
  #hashed = 0;

  private constructor(options: {
    readonly path: string;
    readonly size: number;
    readonly handle: FileHandle;
    readonly checksum: Awaited<ReturnType<typeof weightsChecksum>>;
  }) {
    this.path = options.path;
    this.size = options.size;
    this.#handle = options.handle;
    this.#checksum = options.checksum;
  }

  /**
   * Opens a file. Without `checked`, its checksum is ignored. Throws `model.missing` if it cannot be opened, and
   * `model.malformed` if it is not a file or has another size than its checksum.
   */
  static async open(file: string, { checked }: { readonly checked: boolean }): Promise<WeightsFile> {
    const checksum = checked ? await weightsChecksum(file) : undefined;
    const handle = await openFile(file);
    const { size } = await handle.stat();
    if (checksum === undefined || checksum.bytes === size)
      return new WeightsFile({ path: file, size, handle, checksum });
    await handle.close();
    throw checksum.changed(changedSize(path.basename(file), size, checksum.bytes));
  }

  /** Fills `bytes` from a position in the file. Throws `model.malformed` if the file ends before that. */
  async read(bytes: Uint8Array, position: number): Promise<void> {
    if (this.#checksum !== undefined) await this.#hashUntil(position);
    await this.#fill(bytes, position);
    const known = this.#hashed - position;
    if (this.#checksum === undefined || known >= bytes.length) return;
    this.#hash.update(bytes.subarray(known));
    this.#hashed = position + bytes.length;
  }

  /**
   * Throws `model.malformed` if the file differs from its checksum. Reads what was not read before. Call it once, after
   * the last read.
   */
  async check(): Promise<void> {
    if (this.#checksum === undefined) return;
    await this.#hashUntil(this.size);
    if (this.#hash.digest("hex") === this.#checksum.sha256) return;
    throw this.#checksum.changed(changedBytes(path.basename(this.path)));
  }

  close(): Promise<void> {
    return this.#handle.close();
  }

  async #hashUntil(position: number): Promise<void> {
    while (this.#hashed < position) {
      const bytes = new Uint8Array(Math.min(chunkBytes, position - this.#hashed));
      await this.#fill(bytes, this.#hashed);
      this.#hash.update(bytes);
      this.#hashed += bytes.length;
    }
  }

  /** Repeats reads, because a single read may return fewer bytes than requested. */
  async #fill(bytes: Uint8Array, position: number): Promise<void> {
    for (let done = 0; done < bytes.length; ) {
      const length = Math.min(maximumReadBytes, bytes.length - done);
      const { bytesRead } = await this.#handle.read(bytes, done, length, position + done);
      if (bytesRead === 0) throw malformedFile({ file: this.path, reason: `it ends at byte ${position + done}` });
      done += bytesRead;
    }
  }
}

async function openFile(file: string): Promise<FileHandle> {
  try {
    await assertFile(file);
    return await open(file, "r");
  } catch (error) {
    if (LyceumError.isInstance(error)) throw error;
    const isAbsent = hasCode(error, "ENOENT") || hasCode(error, "ENOTDIR");
    throw new LyceumError({
      code: "model.missing",
      message: isAbsent
        ? `The weights file ${file} does not exist.`
        : `Cannot open ${file}: ${(error as Error).message}`,
      hint: "Weights must be in the safetensors format, all shards of them; download or export the model again.",
      data: { file },
      cause: error,
    });
  }
}
