import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname, resolve } from "node:path";

/**
 * Creates a folder and its missing parents. Resolves to the first folder that was created. Rejects with the error of
 * the system. Node's recursive `mkdir` reports ENOENT for most errors, such as a read-only file system.
 */
export async function makeFolder(path: string): Promise<string | undefined> {
  try {
    return await mkdir(path, { recursive: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    let missing = resolve(path);
    while (!existsSync(dirname(missing))) missing = dirname(missing);
    // Rejects with the system's error, unless its cause has just disappeared.
    await mkdir(missing);
    await mkdir(path, { recursive: true });
    return missing;
  }
}
