import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** How the names of these folders begin. */
export const temporaryFolderPrefix = "folder-";

/** Creates an empty folder. The set-up file `temporary-files.ts` removes it after the tests of the file. */
export function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), temporaryFolderPrefix));
}
