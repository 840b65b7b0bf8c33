import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname, resolve } from "node:path";

/**
 * Makes a folder and those above it, as far as they are missing. Resolves to the first one that was made. Rejects with
 * the reason of the system: a recursive `mkdir` of Node says ENOENT for most reasons, such as a read-only file system.
 */
export async function makeFolder(path: string): Promise<string | undefined> {
  try {
    return await mkdir(path, { recursive: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    let missing = resolve(path);
    while (!existsSync(dirname(missing))) missing = dirname(missing);
    // Rejects with the true reason, unless that has just gone.
    await mkdir(missing);
    await mkdir(path, { recursive: true });
    return missing;
  }
}
