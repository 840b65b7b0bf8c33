import { rename, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { syncDirectory } from "../../src/core/files/sync-folder.ts";
import type { Model } from "../backend/training-backend.ts";
import { type CheckpointManifest, readWholeManifest } from "./checkpoint-manifest.ts";
import { removeCheckpoint } from "./find-checkpoints.ts";
import { writeCheckpointFolder } from "./write-checkpoint.ts";

/** How the best checkpoint of a run is chosen. */
export interface BestCheckpointConfig {
  /** The metric that evaluations are compared by, such as `evaluation/accuracy`. */
  readonly metric: string;
  readonly mode: "max" | "min";
}

/** The folder name of the best checkpoint. */
const bestName = "best";
/** The folder name of a complete checkpoint that is about to replace it. */
const nextName = "best.next";

/** Returns the path of the best checkpoint in a run's folder of checkpoints. */
export function bestCheckpointPath(folder: string): string {
  return join(folder, bestName);
}

/** Returns true if a value is better than the best so far. */
export function isBetter(value: number, best: number | undefined, { mode }: BestCheckpointConfig): boolean {
  if (best === undefined) return true;
  return mode === "max" ? value > best : value < best;
}

/**
 * Writes a checkpoint as `best` and replaces the previous one. At any moment, one of the two is complete on disk. If
 * the process is killed between the two renames, {@link readBestCheckpoint} finishes the replacement. Returns the path.
 * Throws as `writeCheckpoint` does.
 */
export async function writeBestCheckpoint(options: {
  /** The folder of all checkpoints of the run. */
  readonly folder: string;
  readonly models: ReadonlyMap<string, Model>;
  readonly manifest: CheckpointManifest;
}): Promise<string> {
  const { folder, ...content } = options;
  await writeCheckpointFolder({ ...content, path: join(folder, nextName) });
  await replaceBest(folder);
  return bestCheckpointPath(folder);
}

/**
 * Returns the manifest of the best checkpoint of a run, or undefined if there is none. Finishes an interrupted write.
 * Throws `checkpoint.unusable` if the checkpoint is damaged.
 */
export async function readBestCheckpoint(folder: string): Promise<CheckpointManifest | undefined> {
  if ((await stat(join(folder, nextName)).catch(() => undefined)) !== undefined) await replaceBest(folder);
  const path = bestCheckpointPath(folder);
  if ((await stat(path).catch(() => undefined)) === undefined) return undefined;
  return readWholeManifest(path);
}

async function replaceBest(folder: string): Promise<void> {
  const path = bestCheckpointPath(folder);
  await removeCheckpoint(path);
  await rename(join(folder, nextName), path);
  await syncDirectory(dirname(path));
}
