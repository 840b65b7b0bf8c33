import { join } from "node:path";
import type { Capabilities } from "../backend/training-backend.ts";
import { bestCheckpointPath, readBestCheckpoint } from "../checkpoint/best-checkpoint.ts";
import { exportFormat, exportModel } from "../models/export-model.ts";
import { learnerFolder } from "../run/learners.ts";
import type { TrainingRun } from "../run/training-run.ts";

/** The models that a run exported at its end. */
export interface Exported {
  readonly folder: string;
  /** The step after which the exported weights were saved. */
  readonly step: number;
  readonly best: boolean;
}

/**
 * Exports the models of a run to `model/` at its end, in the formats that the backend supports. With `export.from:
 * best`, exports those of the best checkpoint and leaves these weights in the run's models. If there is no best
 * checkpoint, exports the last weights.
 */
export async function exportTrained(run: TrainingRun, capabilities: Capabilities): Promise<Exported | undefined> {
  const { config, learners, progress, checkpoints, output } = run;
  const wanted = learners.policies.flatMap(({ name, agents, shared, model }) => {
    const format = exportFormat(config, { capabilities, agents });
    return format === undefined ? [] : [{ model, format, folder: learnerFolder("model", name, shared) }];
  });
  if (wanted.length === 0) return undefined;
  const { dtype } = config.export;
  const wantsBest = config.export.from === "best" && progress.best !== undefined;
  const best = wantsBest ? await readBestCheckpoint(checkpoints) : undefined;
  for (const { model, format, folder } of wanted) {
    if (best !== undefined) await model.load(join(bestCheckpointPath(checkpoints), folder));
    await exportModel({ model, format, folder: join(output, folder), dtype: dtype === "auto" ? undefined : dtype });
  }
  return { folder: join(output, "model"), step: best?.step ?? progress.step, best: best !== undefined };
}
