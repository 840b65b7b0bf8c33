import { rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { syncDirectory, syncFolder } from "../../src/core/files/sync-folder.ts";

/** The suffix of a folder while another one takes its place. */
export const replacedSuffix = ".old";

/**
 * Puts a folder that is complete in the place of another one, or of none, and forces it to the disk. The old one is
 * deleted last: after an error it is in its place again, and after a crash it is there whole under its own name or with
 * {@link replacedSuffix}.
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

/** False if there is nothing to rename. */
async function renamed(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}
