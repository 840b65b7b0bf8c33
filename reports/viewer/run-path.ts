import { realpath } from "node:fs/promises";
import { isAbsolute, relative, resolve, sep } from "node:path";
import { LyceumError } from "../../src/contract/errors/index.ts";

/**
 * Returns the folder of a run from a path of a browser. Throws `data.not-found` if it does not exist or is outside of
 * `root` (by dots, an absolute path or a link). Both cases have the same error.
 */
export async function runPath(root: string, path: string): Promise<string> {
  const refused = new LyceumError({
    code: "data.not-found",
    message: `There is no run ${JSON.stringify(path)} in the viewed folder.`,
    hint: "Choose one from the list of runs.",
  });
  if (isAbsolute(path) || path.includes("\0")) throw refused;
  const [home, folder] = await Promise.all([realpath(root), realpath(resolve(root, path))]).catch(() => {
    throw refused;
  });
  const inside = relative(home, folder);
  if (inside === ".." || inside.startsWith(`..${sep}`) || isAbsolute(inside)) throw refused;
  return folder;
}
