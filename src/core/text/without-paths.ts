import { readdirSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { parse, sep } from "node:path";

/**
 * Replaces the absolute paths of a text by shorter ones, for a client that must not learn the folders of this machine.
 * Paths in the current folder become relative. Of others the last part remains. Paths of URLs and routes, such as
 * `/v1/messages`, stay.
 */
export function withoutPaths(text: string): string {
  if (!/[/\\]/.test(text)) return text;
  const relative = ownFolders().reduce((rest, folder) => rest.replaceAll(folder, ""), text);
  return relative.replace(absolutePath, (path, first: string | undefined) => {
    if (first !== undefined && !topFolders().has(first)) return path;
    return path.slice(1 + Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")));
  });
}

/** A path of two or more parts that begins at the root, as a path or a URL of a file, or with the letter of a drive. */
const absolutePath =
  /(?:(?<![\w.~/\\-])(?:file:\/\/)?\/([^\s/\\'"`<>|:;,()[\]{}]+)\/|(?<!\w)[A-Za-z]:[\\/])[^\s'"`<>|:;,()[\]{}]*/g;

/** The folders whose names can have spaces, which end a path in a text otherwise. */
function ownFolders(): readonly string[] {
  const folders = [process.cwd(), tmpdir(), homedir()].map((folder) => (folder.endsWith(sep) ? folder : folder + sep));
  return folders.filter((folder) => folder.length > 2).flatMap((folder) => [`file://${folder}`, folder]);
}

let known: ReadonlySet<string> | undefined;

/** The names at the root of the file system: they tell a path from a route. */
function topFolders(): ReadonlySet<string> {
  if (known === undefined) {
    try {
      known = new Set(readdirSync(parse(process.cwd()).root));
    } catch {
      known = new Set(["home", "root", "Users", "var", "tmp", "usr", "opt", "mnt", "srv", "etc", "data"]);
    }
  }
  return known;
}
