import { randomUUID } from "node:crypto";
import { copyFile, readdir, readFile, rename, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import { makeFolder } from "../files/make-folder.ts";
import type { HubFile, HubRepository } from "./hub-options.ts";

/*
 * The cache layout of Hugging Face's own tools, so that files are shared with Python:
 *   <cache>/models--owner--name/blobs/<etag>                  content, once
 *                              /snapshots/<commit>/<path>     links to the blobs
 *                              /refs/<revision>               the last known commit of a branch or tag
 * Lyceum adds listings/<commit>.json: the paths of the repository at that commit.
 */

/** Returns the folder of one repository within the cache. */
export function repositoryFolder(cacheFolder: string, { type, repository }: HubRepository): string {
  return join(resolve(cacheFolder), [`${type}s`, ...repository.split("/")].join("--"));
}

/** Returns the path of a downloaded file. */
export function snapshotPath(folder: string, commit: string, path: string): string {
  return join(folder, "snapshots", commit, ...path.split("/"));
}

/** Returns the path of a file's content. */
export function blobPath(folder: string, etag: string): string {
  return join(folder, "blobs", etag);
}

/** True if a file (or the target of a link) exists. */
export async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** Returns the last known commit of a branch or tag, or undefined. */
export async function readReference(folder: string, revision: string): Promise<string | undefined> {
  const text = await readFile(join(folder, "refs", revision), "utf8").catch(() => undefined);
  return text?.trim() || undefined;
}

/** Stores the commit of a branch or tag. */
export function writeReference(folder: string, revision: string, commit: string): Promise<void> {
  return writeWhole(join(folder, "refs", revision), commit);
}

/** Links a blob to its path in a snapshot. Copies it if links are not allowed. */
export async function linkSnapshot(folder: string, commit: string, file: HubFile, etag: string): Promise<string> {
  const path = snapshotPath(folder, commit, file.path);
  const blob = blobPath(folder, etag);
  await makeFolder(dirname(path));
  const temporary = `${path}.${randomUUID()}`;
  await symlink(relative(dirname(path), blob), temporary).catch(() => copyFile(blob, temporary));
  await rename(temporary, path);
  return path;
}

/** Stores the list of paths of a commit. */
export function writeListing(folder: string, commit: string, paths: readonly string[]): Promise<void> {
  return writeWhole(join(folder, "listings", `${commit}.json`), JSON.stringify(paths));
}

/** Returns the stored list of paths of a commit, or undefined. */
export async function readListing(folder: string, commit: string): Promise<string[] | undefined> {
  const listing = await readFile(join(folder, "listings", `${commit}.json`), "utf8").catch(() => undefined);
  return listing === undefined ? undefined : (JSON.parse(listing) as string[]);
}

/** Returns the paths of a commit's files that are in the cache, or undefined if there are none. */
export async function listSnapshot(folder: string, commit: string): Promise<string[] | undefined> {
  const snapshot = join(folder, "snapshots", commit);
  const entries = await readdir(snapshot, { recursive: true, withFileTypes: true }).catch(() => undefined);
  return entries
    ?.filter((entry) => !entry.isDirectory())
    .map((entry) => relative(snapshot, join(entry.parentPath, entry.name)).split(sep).join("/"))
    .sort();
}

async function writeWhole(path: string, text: string): Promise<void> {
  await makeFolder(dirname(path));
  const temporary = `${path}.${randomUUID()}`;
  await writeFile(temporary, text);
  await rename(temporary, path);
}
