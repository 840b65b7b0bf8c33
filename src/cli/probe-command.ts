import { existsSync } from "node:fs";
import { join } from "node:path";
import { createAlgorithm } from "../../trainers/config/resolve-config.ts";
import type { TrainingConfig } from "../../trainers/config/training-config.ts";
import { probeTraining } from "../../trainers/probe/probe-training.ts";
import { planStages } from "../../trainers/training/stages.ts";
import { showActivity } from "../reports/training/activity-view.ts";
import { TrainingProgress } from "../reports/training/index.ts";
import { probeLines } from "../reports/training/probe-text.ts";
import { visibleText } from "../reports/training/visible-text.ts";
import type { PolicyOpener } from "./policy-opener.ts";
import { openAgents, openBackend, type PreparedRun, type TrainCommandOptions } from "./prepared-run.ts";

/**
 * Runs `lyceum train --probe`: plays a few tasks of the run, or of each stage that learns from rewards, and shows
 * whether their rewards have a signal. A stage uses the weights that the previous stage left in the output folder. If
 * there are none, it uses the initial model.
 */
export async function probeCommand(
  runs: readonly PreparedRun[],
  options: TrainCommandOptions & { readonly opener: PolicyOpener },
): Promise<void> {
  const { stream } = options.view;
  if (runs[0]!.name === undefined) return await probeOne(runs[0]!, runs[0]!.training, options);
  for (const [place, run] of runs.entries()) {
    const { name, training, algorithms } = run;
    const { id } = training.algorithm;
    if (createAlgorithm(training, algorithms).rollout.actor === "demonstration") {
      stream.write(`stage ${visibleText(name!)}: ${id} learns from demonstrations, nothing to probe\n`);
      continue;
    }
    const before = runs[place - 1];
    const isTrained = before !== undefined && existsSync(join(run.output, before.name!, "model"));
    const model = isTrained ? `the model of stage ${before.name!}` : "the model before the first stage";
    stream.write(`stage ${visibleText(name!)}, with ${visibleText(model)}:\n`);
    await probeOne(run, isTrained ? await continuedConfig(runs, run) : training, options);
  }
}

/** Returns the config of a stage with the weights that the previous stages left. */
async function continuedConfig(runs: readonly PreparedRun[], { name, output }: PreparedRun) {
  const stages = runs.map((run) => ({ ...run, name: run.name!, config: run.training }));
  const planned = await planStages({ stages, output, resume: true });
  return planned.find((stage) => stage.name === name)!.config;
}

async function probeOne(
  run: PreparedRun,
  training: TrainingConfig,
  options: TrainCommandOptions & { readonly opener: PolicyOpener },
): Promise<void> {
  const { catalog, view, signal, opener } = options;
  const { environment, environmentOptions, algorithms, folder } = run;
  const players = await openAgents({ training, environment, folder }, opener);
  await using opened = await openBackend(run.config, { catalog, opener, signal });
  const progress = new TrainingProgress();
  using _ = showActivity(progress, view);
  const event = await probeTraining({
    ...{ config: training, ...players, environment, environmentOptions, algorithms },
    ...{ backend: opened.backend, progress, signal },
  });
  const { isTTY, columns } = view.stream;
  const width = isTTY === true ? Math.max(1, (columns || 80) - 1) : Number.POSITIVE_INFINITY;
  view.stream.write(`${probeLines(event, width).join("\n")}\n`);
}
