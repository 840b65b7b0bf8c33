import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative, resolve, sep } from "node:path";

/**
 * Returns the reference of the `package.json` in `folder` to this package: the packed file from which it was installed,
 * the folder of its clone, or its version if it came from a registry.
 */
export function packageReference(folder: string): string {
  return referenceTo(dirname(createRequire(import.meta.url).resolve("lyceum/package.json")), folder);
}

/** Returns the reference from `folder` to the package in the folder `root`. Both paths are absolute. */
export function referenceTo(root: string, folder: string): string {
  const project = root.split(`${sep}node_modules${sep}`)[0]!;
  const source = project === root ? undefined : installedFrom(root, project);
  if (source === undefined) return fileReference(folder, root);
  if (/^https?:.*\/-\/[^/]+\.tgz$/.test(source)) return `^${versionOf(root)}`;
  if (!source.startsWith("file:")) return source;
  const file = resolve(project, source.slice("file:".length));
  // Falls back to the installed folder if the packed file no longer exists.
  return fileReference(folder, existsSync(file) ? file : root);
}

/** Returns the source from which npm installed the package: `file:` and a path relative to the project, or a URL. */
function installedFrom(root: string, project: string): string | undefined {
  const lock = join(project, "node_modules/.package-lock.json");
  if (!existsSync(lock)) return undefined;
  const { packages = {} } = readJson(lock) as { readonly packages?: Readonly<Record<string, { resolved?: string }>> };
  return packages[slashed(relative(project, root))]?.resolved;
}

function versionOf(root: string): string {
  return (readJson(join(root, "package.json")) as { readonly version: string }).version;
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, "utf8"));
}

function fileReference(folder: string, path: string): string {
  return `file:${slashed(relative(folder, path))}`;
}

function slashed(path: string): string {
  return path.replaceAll(sep, "/");
}
