import { open } from "node:fs/promises";
import { endsLine } from "./find-trace-end.ts";

/**
 * What a trace lacks that once had so many bytes, in a sentence; undefined if it still has them. What was written after
 * them does not count.
 */
export async function traceLoss(path: string, length: number): Promise<string | undefined> {
  if (length === 0) return undefined;
  try {
    await using file = await open(path, "r");
    const { size } = await file.stat();
    if (size < length) {
      return `${path} has ${size} bytes, and had ${length} at this checkpoint: episodes of earlier steps are missing.`;
    }
    if (await endsLine(file, length)) return undefined;
    return `${path} has changed since this checkpoint: it may lack episodes, or have some twice.`;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return `${path} is missing: the episodes of the steps before this checkpoint are lost.`;
  }
}
