import { existsSync, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { nearestName } from "../../contract/errors/nearest-name.ts";

/**
 * True for the name of a folder or file rather than the id of a hub repository (`owner/name`): a name with the form of a
 * path, or one that begins with a folder that exists here.
 */
export function isLocalName(name: string): boolean {
  if (/^[./~]|\\|\/$|\/.*\//.test(name)) return true;
  return name.includes("/") && existsSync(dirname(name));
}

/**
 * Returns what exists in the place of a missing path: the nearest name in its folder, or the part of the path that does
 * not exist. A sentence, or an empty text.
 */
export function nearPath(path: string): string {
  if (path.startsWith("~")) return "~ is only expanded by the shell, and not in quotation marks or in a config. ";
  const folder = dirname(path);
  if (!existsSync(folder)) return `There is no folder ${folder} either. `;
  const near = nearestName(basename(path), namesIn(folder));
  return near === undefined ? "" : `Did you mean ${join(folder, near)}? `;
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
