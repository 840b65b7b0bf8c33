import type { FileHandle } from "node:fs/promises";
import { LyceumError } from "../../contract/errors/index.ts";
import { headerLine, headerProblem } from "./trace-format.ts";

const newline = 0x0a;
const blockSize = 1 << 16;

/**
 * Returns the offset in bytes after the last complete line of a trace. Returns 0 if the header was never written.
 * Throws `data.malformed` if the file is not a trace.
 */
export async function findTraceEnd(file: FileHandle, path: string): Promise<number> {
  const { size } = await file.stat();
  const block = Buffer.alloc(blockSize);
  const { bytesRead } = await file.read(block, 0, blockSize, 0);
  const headerEnd = block.subarray(0, bytesRead).indexOf(newline);
  const beginning = block.toString("utf8", 0, headerEnd < 0 ? bytesRead : headerEnd);
  // A crash can also leave a part of the header.
  if (headerEnd < 0 && headerLine().startsWith(beginning)) return 0;
  const problem = headerProblem(beginning);
  if (problem !== undefined) {
    throw new LyceumError({
      code: "data.malformed",
      message: `Cannot append to ${path}: ${problem}.`,
      hint: "Append only to a trace, or choose another path.",
      data: { path },
    });
  }
  for (let end = size; end > 0; end -= blockSize) {
    const start = Math.max(0, end - blockSize);
    const { bytesRead: length } = await file.read(block, 0, end - start, start);
    const last = block.subarray(0, length).lastIndexOf(newline);
    if (last >= 0) return start + last + 1;
  }
  return 0;
}

/** Returns true if a line of a trace ends after `length` bytes. */
export async function endsLine(file: FileHandle, length: number): Promise<boolean> {
  if (length === 0) return true;
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, length - 1);
  return buffer[0] === newline;
}
