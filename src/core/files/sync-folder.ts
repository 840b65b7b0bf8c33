import { open, readdir } from "node:fs/promises";
import { join } from "node:path";

/** Forces every file below a folder, and the folders themselves, to the disk. */
export async function syncFolder(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    await (entry.isDirectory() ? syncFolder(path) : sync(path));
  }
  await syncDirectory(folder);
}

/** Forces the list of a folder's entries to the disk, where the system can: Windows opens no folders. */
export async function syncDirectory(folder: string): Promise<void> {
  if (process.platform !== "win32") await sync(folder);
}

async function sync(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
