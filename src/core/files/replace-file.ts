import { open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import type { ErrorCode } from "../../contract/errors/index.ts";
import { writeFailed } from "../../contract/errors/write-failed.ts";
import { syncDirectory } from "./sync-folder.ts";

/**
 * Writes a file atomically and flushes it to the disk. After an error or a crash the earlier file is still there, and
 * no other file is left. Throws `code` (`trace.write-failed` by default) with the path.
 */
export async function replaceFile(
  path: string,
  text: string,
  { code }: { readonly code?: ErrorCode } = {},
): Promise<void> {
  const temporary = `${path}.tmp`;
  try {
    {
      await using file = await open(temporary, "w");
      await file.writeFile(text);
      await file.sync();
    }
    await rename(temporary, path);
    await syncDirectory(dirname(path));
  } catch (cause) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw writeFailed({ path, cause, code });
  }
}
