import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { completeConfig } from "../config/complete-config.ts";
import { checkConfig } from "../config/training-config.ts";
import type { TrainingRun, TrainOptions } from "../run/training-run.ts";
import { openRun } from "./open-run.ts";

/** Opens a run in a temporary folder, does some work with it, closes it and deletes the folder. */
export async function withTemporaryRun<Result>(
  options: Omit<TrainOptions, "output" | "resume">,
  work: (run: TrainingRun) => Promise<Result>,
): Promise<Result> {
  const config = checkConfig(options.config, options.algorithms);
  await using folder = await mkdtempDisposable(join(tmpdir(), "lyceum-run-"));
  await using run = await openRun({
    ...options,
    output: folder.path,
    config: completeConfig({ ...config, rollout: { ...config.rollout, trace: false } }),
  });
  return await work(run);
}
