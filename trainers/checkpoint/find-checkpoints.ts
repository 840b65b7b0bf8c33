import { readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { type CheckpointManifest, readManifest } from "./checkpoint-manifest.ts";

/** A complete checkpoint on disk. */
export interface Checkpoint {
  readonly path: string;
  readonly manifest: CheckpointManifest;
}

const completeName = /^step-(\d{6,})$/;
const partialName = /^(?:step-\d{6,}|best(?:\.next)?)\.partial$/;

/** The folder name of a step's checkpoint, such as `step-000010`. */
export function checkpointName(step: number): string {
  return `step-${String(step).padStart(6, "0")}`;
}

/** The suffix of a checkpoint that is being written or removed. */
export const partialSuffix = ".partial";

/** Paths of the complete checkpoints in a folder, oldest first; none where the folder does not exist. */
export async function listCheckpoints(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  return names
    .filter((name) => completeName.test(name))
    .toSorted((a, b) => Number(completeName.exec(a)![1]) - Number(completeName.exec(b)![1]))
    .map((name) => join(folder, name));
}

/** True if a path is that of a step's checkpoint within a run. Does not look whether it exists. */
export function isCheckpointPath(path: string): boolean {
  const whole = resolve(path);
  return completeName.test(basename(whole)) && basename(dirname(whole)) === "checkpoints";
}

/** The newest checkpoint whose manifest can be read, or undefined. Its other files may be damaged. */
export async function newestCheckpoint(folder: string): Promise<Checkpoint | undefined> {
  for (const path of (await listCheckpoints(folder)).toReversed()) {
    const manifest = await readManifest(path).catch(() => undefined);
    if (manifest !== undefined) return { path, manifest };
  }
  return undefined;
}

/** Removes what an interrupted write or removal left behind. */
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

/** Removes a checkpoint, if it is there. It stops being a complete one before its first file is gone. */
export async function removeCheckpoint(path: string): Promise<void> {
  const partial = path + partialSuffix;
  await rm(partial, { recursive: true, force: true });
  await rename(path, partial).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });
  await rm(partial, { recursive: true, force: true });
}
