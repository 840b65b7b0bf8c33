import { type FileHandle, open } from "node:fs/promises";
import type { FileLine } from "../../src/core/trace/read-lines.ts";

const newline = 0x0a;
const blockSize = 1 << 19;

/** The number of bytes before the end of the read part that identify a file. They end a line, and lines differ. */
const tailLength = 256;

/** A complete line of a file without its line break, and its position. */
export type FollowedLine = Omit<FileLine, "torn">;

/** Reads a file of lines as it grows. */
export interface LineFollower {
  /** The number of bytes of the accepted lines. */
  readonly end: number;
  /**
   * Passes every complete line that it has not accepted yet to `take`, until `take` refuses one or the time is up. If
   * the file is not the one that was read so far (it is missing, shorter or has another content), calls `restart` first
   * and starts again from the beginning. Returns the reason of the end. `end` is the end of the file. Reads at least
   * one block.
   */
  read(options: {
    readonly restart: () => void;
    readonly take: (line: FollowedLine) => boolean;
    /** A time of `performance.now`. */
    readonly until?: number;
  }): Promise<"end" | "refused" | "time">;
  /** Continues at another position, where a line begins. Earlier lines are known, or will be read again. */
  seek(end: number): void;
}

/** Follows a file that may not exist yet. */
export function createLineFollower(path: string): LineFollower {
  let end = 0;
  let inode = 0;
  let tail: Buffer | undefined;

  const isSame = async (file: FileHandle, { ino, size }: { readonly ino: number; readonly size: number }) => {
    if (end === 0) return true;
    if (size < end || (inode !== 0 && ino !== inode)) return false;
    return tail === undefined || (await bytesBefore(file, end, tail.length)).equals(tail);
  };
  return {
    get end() {
      return end;
    },
    seek: (to) => {
      if (to !== end) tail = undefined;
      end = to;
    },
    read: async ({ restart, take, until = Number.POSITIVE_INFINITY }) => {
      const opened = await open(path, "r").catch(() => undefined);
      if (opened === undefined) {
        if (end > 0) restart();
        [end, inode, tail] = [0, 0, undefined];
        return "end";
      }
      await using file = opened;
      const { ino, size } = await file.stat();
      if (!(await isSame(file, { ino, size }))) {
        restart();
        [end, tail] = [0, undefined];
      }
      inode = ino;
      let block: Buffer = Buffer.allocUnsafe(blockSize);
      // The bytes at the beginning of the block that begin a line.
      let begun = 0;
      for (let position = end; position < size; ) {
        if (begun === block.length) block = Buffer.concat([block], 2 * block.length);
        const { bytesRead } = await file.read(block, begun, block.length - begun, position);
        if (bytesRead === 0) break;
        position += bytesRead;
        const bytes = block.subarray(0, begun + bytesRead);
        let from = 0;
        let refused = false;
        for (let stop = bytes.indexOf(newline, begun); stop >= 0; stop = bytes.indexOf(newline, from)) {
          const length = stop + 1 - from;
          refused = !take({ text: bytes.toString("utf8", from, stop), offset: end, length });
          if (refused) break;
          end += length;
          from = stop + 1;
        }
        if (from > 0) tail = Buffer.from(bytes.subarray(Math.max(0, from - tailLength), from));
        if (refused) return "refused";
        begun = bytes.length - from;
        block.copyWithin(0, from, bytes.length);
        if (performance.now() > until && position < size) return "time";
      }
      tail ??= await bytesBefore(file, end, tailLength);
      return "end";
    },
  };
}

async function bytesBefore(file: FileHandle, end: number, length: number): Promise<Buffer> {
  const start = Math.max(0, end - length);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(end - start), 0, end - start, start);
  return buffer.subarray(0, bytesRead);
}
