import { rename, rm } from "node:fs/promises";
import { basename } from "node:path";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { damageOf } from "../../src/core/files/file-checksums.ts";
import { manifestFile, readManifest } from "./checkpoint-manifest.ts";
import { type Checkpoint, listCheckpoints, newestCheckpoint, removePartialCheckpoints } from "./find-checkpoints.ts";

/** The checkpoint that a run starts from. */
export interface ResumedCheckpoint {
  /** The checkpoint to resume from. Undefined for a new run. */
  readonly checkpoint: Checkpoint | undefined;
  /** Warnings about the checkpoints, in sentences. */
  readonly warnings: readonly string[];
}

/**
 * Finds the newest intact checkpoint in a folder, to resume from. Damaged ones that are newer are renamed to
 * `<name>.damaged`, each with a warning. Throws `checkpoint.unusable` if there is none to resume from. Without
 * `resume`, throws `checkpoint.unusable` if there is any.
 */
export async function resumedCheckpoint(folder: string, resume: boolean): Promise<ResumedCheckpoint> {
  await removePartialCheckpoints(folder);
  if (!resume) {
    await refuseEarlierRun(folder);
    return { checkpoint: undefined, warnings: [] };
  }
  const damaged: { readonly path: string; readonly damage: string }[] = [];
  for (const path of (await listCheckpoints(folder)).toReversed()) {
    const manifest = await readManifest(path).catch(() => undefined);
    const damage =
      manifest === undefined ? `${manifestFile} is missing or damaged` : await damageOf(path, manifest.files);
    if (manifest === undefined || damage !== undefined) {
      damaged.push({ path, damage: damage! });
      continue;
    }
    const warnings: string[] = [];
    for (const other of damaged) {
      const kept = await renameDamaged(other.path);
      warnings.push(
        `The checkpoint ${other.path} is damaged: ${other.damage}. The run continues from ${basename(path)}, the newest ` +
          `that is intact. The damaged one was renamed to ${basename(kept)} and can be deleted.`,
      );
    }
    return { checkpoint: { path, manifest }, warnings };
  }
  throw damaged.length === 0 ? noCheckpoint(folder) : allDamaged(folder, damaged);
}

/** Renames a damaged checkpoint, so that it is not listed, and returns its new path. */
export async function renameDamaged(path: string): Promise<string> {
  const aside = `${path}.damaged`;
  await rm(aside, { recursive: true, force: true });
  await rename(path, aside);
  return aside;
}

async function refuseEarlierRun(folder: string): Promise<void> {
  if ((await listCheckpoints(folder)).length > 0) throw earlierRun(folder, await newestCheckpoint(folder));
}

/** Creates the error for a new run in a folder with another run's checkpoints. `newest` is the newest readable one. */
export function earlierRun(folder: string, newest: Checkpoint | undefined): LyceumError {
  const step = newest?.manifest.step;
  return new LyceumError({
    code: "checkpoint.unusable",
    message: `${folder} has checkpoints of an earlier run, ${step === undefined ? "all damaged" : `the newest at step ${step}`}.`,
    hint:
      step === undefined
        ? "Choose another output folder (--output), or delete these checkpoints."
        : "Resume that run (--resume), or choose another output folder (--output).",
    data: { folder, ...(step === undefined ? {} : { step }) },
  });
}

function noCheckpoint(folder: string): LyceumError {
  return new LyceumError({
    code: "checkpoint.unusable",
    message: `There is no complete checkpoint in ${folder} to resume from.`,
    hint: "Start the run without resuming, or name the output folder of the run to continue.",
    data: { folder },
  });
}

function allDamaged(
  folder: string,
  damaged: readonly { readonly path: string; readonly damage: string }[],
): LyceumError {
  const list = damaged.map(({ path, damage }) => `${basename(path)} (${damage})`).join(", ");
  return new LyceumError({
    code: "checkpoint.unusable",
    message: `All checkpoints in ${folder} are damaged: ${list}.`,
    hint: "Restore one from a backup, or delete these and start the run again without resuming.",
    data: { folder, damaged: damaged.map(({ path }) => path) },
  });
}
