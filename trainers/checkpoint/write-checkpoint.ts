import { rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { isDiskFull, writeFailure } from "../../src/contract/errors/write-failed.ts";
import { fileChecksums } from "../../src/core/files/file-checksums.ts";
import { makeFolder } from "../../src/core/files/make-folder.ts";
import { stepFolder } from "../../src/core/files/step-folder.ts";
import { syncDirectory, syncFolder } from "../../src/core/files/sync-folder.ts";
import type { Model } from "../backend/training-backend.ts";
import { type CheckpointManifest, manifestFile, manifestText, type WrittenManifest } from "./checkpoint-manifest.ts";
import { keepNewestCheckpoints, newestCheckpoint, partialSuffix, removeCheckpoint } from "./find-checkpoints.ts";

/**
 * Writes a checkpoint, completely or not at all: into a `.partial` folder that is flushed to disk and then renamed.
 * Then removes the oldest checkpoints until `keep` are left. Returns the path.
 *
 * Throws `checkpoint.write-failed`, for example if the disk is full or a permission is missing. The partial folder is
 * then removed, and the earlier checkpoints are intact. Other errors of saving the model are thrown unchanged.
 */
export async function writeCheckpoint(options: {
  /** The folder of all checkpoints of the run. It is created if it does not exist. */
  readonly folder: string;
  /** The trained models, by their folder in the checkpoint, such as `model`. */
  readonly models: ReadonlyMap<string, Model>;
  readonly manifest: CheckpointManifest;
  readonly keep: number;
}): Promise<string> {
  const { folder, models, manifest, keep } = options;
  const path = join(folder, stepFolder(manifest.step));
  await writeCheckpointFolder({ path, models, manifest, afterwards: () => keepNewestCheckpoints(folder, keep) });
  return path;
}

/** Writes a checkpoint at a path, completely or not at all. Throws as {@link writeCheckpoint} does. */
export async function writeCheckpointFolder(options: {
  readonly path: string;
  readonly models: ReadonlyMap<string, Model>;
  readonly manifest: CheckpointManifest;
  /** Called after the checkpoint is written. A rejection counts as a failed write. */
  readonly afterwards?: () => Promise<void>;
}): Promise<void> {
  const { path, models, manifest } = options;
  const folder = dirname(path);
  const partial = path + partialSuffix;
  try {
    // Only an unreadable checkpoint can have the same name.
    await removeCheckpoint(path);
    await makeFolder(partial);
    for (const [name, model] of models) {
      await makeFolder(dirname(join(partial, name)));
      await model.save(join(partial, name));
    }
    const written = { ...manifest, models: modelsOf(models), files: await fileChecksums(partial) };
    await writeFile(join(partial, manifestFile), manifestText(written));
    await syncFolder(partial);
    await rename(partial, path);
    await syncDirectory(folder);
    await options.afterwards?.();
  } catch (cause) {
    await rm(partial, { recursive: true, force: true }).catch(() => undefined);
    throw isTypedError(cause) ? cause : await writeFailed({ folder, path, cause });
  }
}

/** Returns true for a typed error of something other than the write. */
export function isTypedError(error: unknown): boolean {
  return LyceumError.isInstance(error) && error.code !== "checkpoint.write-failed";
}

function modelsOf(models: ReadonlyMap<string, Model>): WrittenManifest["models"] {
  return Object.fromEntries([...models].map(([name, { spec }]) => [name, { valueHead: spec.valueHead === true }]));
}

async function writeFailed(options: {
  readonly folder: string;
  readonly path: string;
  readonly cause: unknown;
}): Promise<LyceumError> {
  const { folder, path, cause } = options;
  const previous = await newestCheckpoint(folder).catch(() => undefined);
  const { reason, code } = writeFailure(cause);
  const remedy = isDiskFull(cause) ? "Free some space (older checkpoints can be deleted)" : "Make the folder writable";
  return new LyceumError({
    code: "checkpoint.write-failed",
    message: `The checkpoint ${path} could not be written: ${reason}.`,
    hint:
      previous === undefined
        ? `There is no earlier checkpoint. ${remedy}, then start the run again.`
        : `${previous.path} is intact. ${remedy}, then resume the run.`,
    data: {
      path,
      ...(code === undefined ? {} : { code }),
      ...(previous === undefined ? {} : { previous: previous.path }),
    },
    cause,
  });
}
