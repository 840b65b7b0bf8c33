import { isAbsolute } from "node:path";

/** Returns true if a name in a config is the path of a file or a folder, not a built-in name or a package. */
export function isModulePath(name: string): boolean {
  return /^(?:\.{1,2}$|\.{0,2}[/\\])/.test(name) || isAbsolute(name) || /\.[cm]?[jt]s$/.test(name);
}
