import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { TrainingBackend } from "../backend/training-backend.ts";
import { replaceFolder } from "../checkpoint/replace-folder.ts";
import { exportModel } from "../models/export-model.ts";
import { openCheckpoint } from "../models/open-checkpoint.ts";
import { startFolder } from "../models/start-folder.ts";

/**
 * Exports the models of a checkpoint to the {@link startFolder} of a run that starts from them, so that the run does
 * not depend on the other one later. With `keep`, existing models stay: a resumed run starts from the same models.
 * Returns the folder of a model or of a team. Throws as `openCheckpoint` and `exportModel` do.
 */
export async function exportStart(
  checkpoint: string,
  options: {
    readonly run: string;
    readonly keep: boolean;
    readonly backend: TrainingBackend;
    readonly signal?: AbortSignal | undefined;
  },
): Promise<string> {
  const { run, keep, backend, signal } = options;
  const folder = startFolder(run, checkpoint);
  if (keep && existsSync(folder)) return folder;
  const partial = `${folder}.partial`;
  await rm(partial, { recursive: true, force: true });
  for (const { agent, model } of await openCheckpoint(checkpoint, { backend, signal })) {
    const target = agent === undefined ? partial : join(partial, encodeURIComponent(agent));
    // In another data type, the run would start from other weights than those of the checkpoint.
    await exportModel({ model, folder: target, format: model.isAdapter ? "peft" : "huggingface", dtype: "float32" });
    await model.close();
  }
  await replaceFolder(partial, folder);
  return folder;
}
