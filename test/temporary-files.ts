import { chmodSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { temporaryFolderPrefix } from "./temporary-folder.ts";

/**
 * A set-up file: each test file and the programs that it starts have a folder of their own for temporary files. It is
 * removed after the tests. What a test or a command leaves in it is named on stderr.
 */
const outer = tmpdir();
const folder = mkdtempSync(join(outer, "lyceum-"));
// Like /tmp: some tests start programs as another user.
chmodSync(folder, 0o1777);
const use = (path: string): void => {
  for (const name of ["TMPDIR", "TMP", "TEMP"]) process.env[name] = path;
};
use(folder);

afterAll(() => {
  use(outer);
  const left = readdirSync(folder).filter((name) => !name.startsWith(temporaryFolderPrefix));
  rmSync(folder, { recursive: true, force: true });
  if (left.length > 0) process.stderr.write(`Left in the folder for temporary files: ${left.join(", ")}\n`);
});
