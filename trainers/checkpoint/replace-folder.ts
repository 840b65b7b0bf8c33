import { rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { syncDirectory, syncFolder } from "../../src/core/files/sync-folder.ts";

/** The suffix of a folder while another one replaces it. */
export const replacedSuffix = ".old";

/**
 * Replaces a folder, if it exists, by a complete one and flushes it to disk. The old folder is deleted last. After an
 * error it is restored. After a crash it is complete under its own name or with {@link replacedSuffix}.
 */
export async function replaceFolder(complete: string, folder: string): Promise<void> {
  const replaced = folder + replacedSuffix;
  await syncFolder(complete);
  await rm(replaced, { recursive: true, force: true });
  const hadOne = await renamed(folder, replaced);
  try {
    await rename(complete, folder);
  } catch (error) {
    if (hadOne) await rename(replaced, folder).catch(() => undefined);
    throw error;
  }
  await syncDirectory(dirname(folder));
  await rm(replaced, { recursive: true, force: true });
}

/** Renames a path. Returns false if it does not exist. */
async function renamed(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}
