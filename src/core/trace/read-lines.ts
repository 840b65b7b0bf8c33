import { createReadStream } from "node:fs";
import { dataFileError } from "../taskset/data-file-error.ts";

const newline = 0x0a;

/** A line of a file without its newline, and its place. */
export interface FileLine {
  readonly text: string;
  /** The offset in bytes from the start of the file. `length` includes the newline. */
  readonly offset: number;
  readonly length: number;
  /** True for a last line without a newline: cut off by a crash, or still being written. */
  readonly torn: boolean;
}

/** Reads the lines of a file from the byte `start` on. Throws `data.not-found` if the file does not exist. */
export async function* readLines(
  path: string,
  options: { readonly start?: number; readonly signal?: AbortSignal | undefined } = {},
): AsyncGenerator<FileLine, void, undefined> {
  const { start = 0, signal } = options;
  const stream = createReadStream(path, { start, highWaterMark: 1 << 18, signal });
  let pieces: Buffer[] = [];
  let offset = start;
  const line = (torn: boolean): FileLine => {
    const bytes = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
    const length = bytes.length + (torn ? 0 : 1);
    const read = { text: bytes.toString("utf8"), offset, length, torn };
    pieces = [];
    offset += length;
    return read;
  };
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      let from = 0;
      for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, from)) {
        pieces.push(chunk.subarray(from, end));
        yield line(false);
        from = end + 1;
      }
      if (from < chunk.length) pieces.push(chunk.subarray(from));
    }
  } catch (error) {
    signal?.throwIfAborted();
    throw dataFileError(path, error);
  }
  if (pieces.length > 0) yield line(true);
}
