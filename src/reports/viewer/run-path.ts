import { realpath } from "node:fs/promises";
import { isAbsolute, relative, resolve, sep } from "node:path";
import { LyceumError } from "../../contract/errors/index.ts";

/**
 * The folder of a run, from a path that a browser names. Throws `data.not-found` for one that does not exist or is not
 * within `root`, by dots, absolutely or behind a link: the two are not told apart.
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
