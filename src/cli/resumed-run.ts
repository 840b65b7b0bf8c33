import { existsSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, resolve } from "node:path";
import { manifestFile, readWholeManifest } from "../../trainers/checkpoint/checkpoint-manifest.ts";
import { isCheckpointPath, listCheckpoints } from "../../trainers/checkpoint/find-checkpoints.ts";
import { LyceumError } from "../contract/errors/index.ts";

/**
 * The run folder of what `--resume` names: a run, its newest checkpoint, or that of one of its `stages`. Throws
 * `data.not-found` for what is not there, and `config.invalid` for an older checkpoint, for a model, and for a run that is not in `output`.
 */
export async function resumedRun(
  path: string,
  { output, stages }: { readonly output?: string | undefined; readonly stages: readonly (string | undefined)[] },
): Promise<string> {
  if (!existsSync(path)) {
    throw new LyceumError({
      code: "data.not-found",
      message: `There is no checkpoint ${path} to resume from.`,
      hint: "Name a checkpoint of a run, such as runs/train/checkpoints/step-000100, or its folder, such as runs/train.",
      data: { path },
    });
  }
  const isCheckpoint = existsSync(join(path, manifestFile)) || isCheckpointPath(path);
  const inner = isCheckpoint ? runFolder(path) : path;
  if (!isCheckpoint && ["config.json", "adapter_config.json"].some((file) => existsSync(join(path, file)))) {
    throw invalid(`${path} is a model, not a checkpoint of a run.`, `Start a new run from it: --model_name ${path}.`);
  }
  const newest = isCheckpoint ? await newestBeside(path) : undefined;
  if (newest !== undefined) {
    throw invalid(
      `${path} is not the newest checkpoint of its run: ${basename(newest)} is.`,
      "A run goes on from its newest checkpoint. To go on from an older one, move those after it out of the folder.",
    );
  }
  const folder = stages.includes(basename(inner)) ? dirname(inner) : inner;
  if (output !== undefined && resolve(output) !== resolve(folder)) {
    throw invalid(
      `The run of ${path} is in ${folder}, not in ${output}.`,
      "Leave --output out: a run goes on in its own folder.",
    );
  }
  return folder;
}

/** The newest checkpoint after this one of its run. Damaged ones do not count: the run does not go on from them. */
async function newestBeside(path: string): Promise<string | undefined> {
  const all = await listCheckpoints(dirname(resolve(path)));
  // The best checkpoint is none of them.
  const later = all.slice(all.indexOf(resolve(path)) + 1);
  for (const other of later.toReversed()) {
    const whole = await readWholeManifest(other).then(
      () => true,
      () => false,
    );
    if (whole) return other;
  }
  return undefined;
}

/** As the path is written, relative or not: a stage names the model before it by this folder. */
function runFolder(checkpoint: string): string {
  const folder = dirname(dirname(resolve(checkpoint)));
  return isAbsolute(checkpoint) ? folder : relative(process.cwd(), folder) || ".";
}

function invalid(message: string, hint: string): LyceumError {
  return new LyceumError({ code: "config.invalid", message, hint });
}
