import { rename, rm } from "node:fs/promises";
import { basename } from "node:path";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { checkpointDamage, manifestFile, readManifest } from "./checkpoint-manifest.ts";
import { type Checkpoint, listCheckpoints, newestCheckpoint, removePartialCheckpoints } from "./find-checkpoints.ts";

/** Where a run begins. */
export interface ResumedCheckpoint {
  /** What it goes on from; undefined for a run that starts. */
  readonly checkpoint: Checkpoint | undefined;
  /** What a person must know of the checkpoints, in sentences. */
  readonly warnings: readonly string[];
}

/**
 * The newest whole checkpoint in a folder, to resume from. Damaged ones after it are renamed to `<name>.damaged`, each
 * with a warning. Throws `checkpoint.unusable` if there is none, and for a new run if there are any.
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
      manifest === undefined ? `${manifestFile} is missing or damaged` : await checkpointDamage(path, manifest);
    if (manifest === undefined || damage !== undefined) {
      damaged.push({ path, damage: damage! });
      continue;
    }
    const warnings: string[] = [];
    for (const other of damaged) {
      const kept = await putAside(other.path);
      warnings.push(
        `The checkpoint ${other.path} is damaged: ${other.damage}. The run goes on from ${basename(path)}, the newest ` +
          `that is whole. The damaged one is now ${basename(kept)}, and may be deleted.`,
      );
    }
    if (manifest.files === undefined) {
      warnings.push(`The checkpoint ${path} is of an earlier version, without checksums: damage to it is not noticed.`);
    }
    return { checkpoint: { path, manifest }, warnings };
  }
  throw damaged.length === 0 ? nothing(folder) : noneWhole(folder, damaged);
}

/** Renames a damaged checkpoint, so that it counts as none, and returns its new path. */
export async function putAside(path: string): Promise<string> {
  const aside = `${path}.damaged`;
  await rm(aside, { recursive: true, force: true });
  await rename(path, aside);
  return aside;
}

async function refuseEarlierRun(folder: string): Promise<void> {
  if ((await listCheckpoints(folder)).length > 0) throw earlierRun(folder, await newestCheckpoint(folder));
}

/** The error of a new run in a folder that holds another's checkpoints; `newest` is the newest that can be read. */
export function earlierRun(folder: string, newest: Checkpoint | undefined): LyceumError {
  const step = newest?.manifest.step;
  return new LyceumError({
    code: "checkpoint.unusable",
    message: `${folder} holds checkpoints of an earlier run, ${step === undefined ? "all damaged" : `the newest at step ${step}`}.`,
    hint:
      step === undefined
        ? "Choose another output folder, or delete these checkpoints."
        : "Resume that run, or choose another output folder.",
    data: { folder, ...(step === undefined ? {} : { step }) },
  });
}

function nothing(folder: string): LyceumError {
  return new LyceumError({
    code: "checkpoint.unusable",
    message: `There is no complete checkpoint in ${folder} to resume from.`,
    hint: "Start the run without resuming, or name the output folder of the run to go on with.",
    data: { folder },
  });
}

function noneWhole(
  folder: string,
  damaged: readonly { readonly path: string; readonly damage: string }[],
): LyceumError {
  const list = damaged.map(({ path, damage }) => `${basename(path)} (${damage})`).join(", ");
  return new LyceumError({
    code: "checkpoint.unusable",
    message: `No checkpoint in ${folder} is whole: ${list}.`,
    hint: "Copy a whole one back from elsewhere, or delete these and start the run anew, without resuming.",
    data: { folder, damaged: damaged.map(({ path }) => path) },
  });
}
