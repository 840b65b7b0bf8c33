import { open } from "node:fs/promises";
import { endsLine } from "../../src/core/trace/find-trace-end.ts";

/**
 * Returns what is missing from a trace that once had `length` bytes, in a sentence. Returns undefined if nothing is
 * missing. Ignores episodes that were written later.
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
    return `${path} has changed since this checkpoint: episodes may be missing or duplicated.`;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return `${path} is missing: the episodes of the steps before this checkpoint are lost.`;
  }
}
