import { readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { stepOfFolder } from "../../src/core/files/step-folder.ts";
import { type CheckpointManifest, readManifest } from "./checkpoint-manifest.ts";

/** A complete checkpoint on disk. */
export interface Checkpoint {
  readonly path: string;
  readonly manifest: CheckpointManifest;
}

const partialName = /^(?:step-\d{6,}|best(?:\.next)?)\.partial$/;

/** The suffix of a checkpoint that is being written or removed. */
export const partialSuffix = ".partial";

/**
 * Returns the paths of the complete checkpoints in a folder, oldest first. Returns none if the folder does not exist.
 */
export async function listCheckpoints(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  return names
    .filter((name) => stepOfFolder(name) !== undefined)
    .toSorted((a, b) => stepOfFolder(a)! - stepOfFolder(b)!)
    .map((name) => join(folder, name));
}

/** Returns true if a path has the form of a step's checkpoint in a run. Does not check whether it exists. */
export function isCheckpointPath(path: string): boolean {
  const whole = resolve(path);
  return stepOfFolder(basename(whole)) !== undefined && basename(dirname(whole)) === "checkpoints";
}

/** Returns the newest checkpoint with a readable manifest, or undefined. Its other files may be damaged. */
export async function newestCheckpoint(folder: string): Promise<Checkpoint | undefined> {
  for (const path of (await listCheckpoints(folder)).toReversed()) {
    const manifest = await readManifest(path).catch(() => undefined);
    if (manifest !== undefined) return { path, manifest };
  }
  return undefined;
}

/** Removes the remains of interrupted writes and removals. */
export async function removePartialCheckpoints(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    if (partialName.test(name)) await rm(join(folder, name), { recursive: true, force: true });
  }
}

/** Removes the oldest checkpoints until `keep` are left. */
export async function keepNewestCheckpoints(folder: string, keep: number): Promise<void> {
  const paths = await listCheckpoints(folder);
  for (const path of paths.slice(0, Math.max(0, paths.length - keep))) await removeCheckpoint(path);
}

/**
 * Removes a checkpoint if it exists. It is renamed first, so that it is never an incomplete checkpoint under its name.
 */
export async function removeCheckpoint(path: string): Promise<void> {
  const partial = path + partialSuffix;
  await rm(partial, { recursive: true, force: true });
  await rename(path, partial).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });
  await rm(partial, { recursive: true, force: true });
}
