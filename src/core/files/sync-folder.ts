import { open, readdir } from "node:fs/promises";
import { join } from "node:path";

/** Flushes all files and folders below a folder to the disk (fsync). */
export async function syncFolder(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    await (entry.isDirectory() ? syncFolder(path) : sync(path));
  }
  await syncDirectory(folder);
}

/** Flushes the entries of a folder to the disk (fsync). Does nothing on Windows, which cannot open folders. */
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
