import { existsSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, resolve } from "node:path";
import { LyceumError } from "../src/contract/errors/index.ts";
import { manifestFile, readWholeManifest } from "../trainers/checkpoint/checkpoint-manifest.ts";
import { isCheckpointPath, listCheckpoints } from "../trainers/checkpoint/find-checkpoints.ts";

/**
 * Returns the run folder of the path after `--resume`: a run, its newest checkpoint, or the newest one of its `stages`.
 * Throws `data.not-found` if it does not exist, and `config.invalid` for an older checkpoint, for a model, and for a
 * run outside `output`.
 */
export async function resumedRun(
  path: string,
  { output, stages }: { readonly output?: string | undefined; readonly stages: readonly (string | undefined)[] },
): Promise<string> {
  if (!existsSync(path)) {
    throw new LyceumError({
      code: "data.not-found",
      message: `There is no checkpoint ${path} to resume from.`,
      hint: "Use a checkpoint of a run, such as runs/train/checkpoints/step-000100, or its folder, such as runs/train.",
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
      "A run resumes from its newest checkpoint. To resume from an older one, move the newer ones out of the folder.",
    );
  }
  const folder = stages.includes(basename(inner)) ? dirname(inner) : inner;
  if (output !== undefined && resolve(output) !== resolve(folder)) {
    throw invalid(
      `The run of ${path} is in ${folder}, not in ${output}.`,
      "Omit --output: a run resumes in its own folder.",
    );
  }
  return folder;
}

/**
 * Returns the newest checkpoint after this one in its run. Ignores damaged checkpoints, because the run does not resume
 * from them.
 */
async function newestBeside(path: string): Promise<string | undefined> {
  const all = await listCheckpoints(dirname(resolve(path)));
  // The best checkpoint is not in the list.
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

/**
 * Returns the folder as the path writes it, relative or absolute, because a stage names the previous stage's model by
 * this folder.
 */
function runFolder(checkpoint: string): string {
  const folder = dirname(dirname(resolve(checkpoint)));
  return isAbsolute(checkpoint) ? folder : relative(process.cwd(), folder) || ".";
}

function invalid(message: string, hint: string): LyceumError {
  return new LyceumError({ code: "config.invalid", message, hint });
}
