import { rename, rm, writeFile } from "node:fs/promises";

/** Writes a file whole or not at all: where it fails, the file that was there is still there, and nothing else is. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const temporary = `${path}.tmp`;
  try {
    await writeFile(temporary, text);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
}
