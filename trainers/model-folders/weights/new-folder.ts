import { readdir, rename, rm, rmdir } from "node:fs/promises";
import path from "node:path";
import { LyceumError } from "../../../src/contract/errors/lyceum-error.ts";
import { isSystemError, writeFailed } from "../../../src/contract/errors/write-failed.ts";
import { makeFolder } from "../../../src/core/files/make-folder.ts";
import { syncDirectory, syncFolder } from "../../../src/core/files/sync-folder.ts";
import { hasCode } from "../../../src/core/tokens/model-file.ts";

/**
 * Creates a folder atomically. `write` fills a `.partial` folder next to it, which is then synced to disk and renamed.
 * Throws `checkpoint.write-failed` if that fails or if a folder that is not empty exists already.
 */
export async function writeNewFolder(folder: string, write: (partial: string) => Promise<void>): Promise<void> {
  const target = path.resolve(folder);
  const partial = `${target}.partial`;
  await assertFree(target);
  try {
    await rm(partial, { recursive: true, force: true });
    await makeFolder(partial);
    await write(partial);
    await syncFolder(partial);
    await rmdir(target).catch(ignoreAbsent);
    await rename(partial, target);
    await syncDirectory(path.dirname(target));
  } catch (error) {
    await rm(partial, { recursive: true, force: true }).catch(() => undefined);
    if (!isSystemError(error)) throw error;
    const hint = "Nothing half-written was left.";
    throw writeFailed({ path: target, cause: error, code: "checkpoint.write-failed", hint });
  }
}

async function assertFree(folder: string): Promise<void> {
  const entries = await readdir(folder).catch((error: unknown) => (hasCode(error, "ENOENT") ? [] : undefined));
  if (entries?.length === 0) return;
  throw new LyceumError({
    code: "checkpoint.write-failed",
    message: `${folder} ${entries === undefined ? "is not a folder" : "is not empty"}, so nothing was written there.`,
    hint: "Name a folder that does not exist yet, or remove this one.",
    data: { path: folder },
  });
}

function ignoreAbsent(error: unknown): void {
  if (!hasCode(error, "ENOENT")) throw error;
}
