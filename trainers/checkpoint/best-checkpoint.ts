import { rename, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { syncDirectory } from "../../src/core/files/sync-folder.ts";
import type { Model } from "../backend/training-backend.ts";
import { type CheckpointManifest, readWholeManifest } from "./checkpoint-manifest.ts";
import { removeCheckpoint } from "./find-checkpoints.ts";
import { writeCheckpointFolder } from "./write-checkpoint.ts";

/** Which checkpoint of a run is the best. */
export interface BestCheckpointConfig {
  /** Such as `evaluation/accuracy`. */
  readonly metric: string;
  readonly mode: "max" | "min";
}

/** The name of the best checkpoint among those of a run. */
const bestName = "best";
/** A whole one that is about to take its place. */
const nextName = "best.next";

/** Where a run keeps its best checkpoint, among all of them in a folder. */
export function bestCheckpointPath(folder: string): string {
  return join(folder, bestName);
}

/** True where a value is better than the best so far. */
export function isBetter(value: number, best: number | undefined, { mode }: BestCheckpointConfig): boolean {
  if (best === undefined) return true;
  return mode === "max" ? value > best : value < best;
}

/**
 * Writes a checkpoint as `best`, in the place of the one before: at any moment either of the two is there whole, under
 * this name or, where the process was killed between two renames, found again by {@link readBestCheckpoint}. Returns
 * its path. Throws as `writeCheckpoint` does.
 */
export async function writeBestCheckpoint(options: {
  /** The folder of all the run's checkpoints. */
  readonly folder: string;
  readonly models: ReadonlyMap<string, Model>;
  readonly manifest: CheckpointManifest;
}): Promise<string> {
  const { folder, ...content } = options;
  await writeCheckpointFolder({ ...content, path: join(folder, nextName) });
  await putInPlace(folder);
  return bestCheckpointPath(folder);
}

/**
 * The manifest of the best checkpoint of a run, if it has one. Finishes what an interrupted write began. Throws
 * `checkpoint.unusable` if it is damaged.
 */
export async function readBestCheckpoint(folder: string): Promise<CheckpointManifest | undefined> {
  if ((await stat(join(folder, nextName)).catch(() => undefined)) !== undefined) await putInPlace(folder);
  const path = bestCheckpointPath(folder);
  if ((await stat(path).catch(() => undefined)) === undefined) return undefined;
  return readWholeManifest(path);
}

async function putInPlace(folder: string): Promise<void> {
  const path = bestCheckpointPath(folder);
  await removeCheckpoint(path);
  await rename(join(folder, nextName), path);
  await syncDirectory(dirname(path));
}
