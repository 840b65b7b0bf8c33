import { type FileHandle, open } from "node:fs/promises";
import type { FileLine } from "../../core/trace/read-lines.ts";

const newline = 0x0a;
const blockSize = 1 << 19;

/** Bytes before the end of what was read, by which a file is known again. They end a line, and lines differ. */
const tailLength = 256;

/** A whole line of a file, without its end, and where it is. */
export type FollowedLine = Omit<FileLine, "torn">;

/** Reads a file of lines as it grows. */
export interface LineFollower {
  /** Bytes of the lines that were taken. */
  readonly end: number;
  /**
   * Gives `take` every whole line that it has not taken yet, until it refuses one, or the time is up. `anew` is called
   * before, where the file is not the one that was read up to here: gone, shorter, or with something else there. Then
   * it is read from its beginning. Tells why it ended: `end` of the file. At least a block is read.
   */
  read(options: {
    readonly anew: () => void;
    readonly take: (line: FollowedLine) => boolean;
    /** As `performance.now` counts. */
    readonly until?: number;
  }): Promise<"end" | "refused" | "time">;
  /** Goes on from another place, where a line begins: what is before it is known, or is to be read again. */
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
    read: async ({ anew, take, until = Number.POSITIVE_INFINITY }) => {
      const opened = await open(path, "r").catch(() => undefined);
      if (opened === undefined) {
        if (end > 0) anew();
        [end, inode, tail] = [0, 0, undefined];
        return "end";
      }
      await using file = opened;
      const { ino, size } = await file.stat();
      if (!(await isSame(file, { ino, size }))) {
        anew();
        [end, tail] = [0, undefined];
      }
      inode = ino;
      let block: Buffer = Buffer.allocUnsafe(blockSize);
      // Bytes at the beginning of the block that begin a line.
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
