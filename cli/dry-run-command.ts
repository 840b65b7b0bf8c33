import { existsSync } from "node:fs";
import { join } from "node:path";
import { showActivity } from "../reports/training/activity-view.ts";
import { TrainingProgress } from "../reports/training/index.ts";
import { preflightReport } from "../reports/training/preflight-text.ts";
import { probeLines } from "../reports/training/probe-text.ts";
import { visibleText } from "../src/core/text/visible-text.ts";
import type { TrainingConfig } from "../trainers/config/training-config.ts";
import { throwIfFailed } from "../trainers/preflight/preflight-error.ts";
import { preflightTraining } from "../trainers/training/preflight-training.ts";
import { probeTraining } from "../trainers/training/probe-training.ts";
import { createAlgorithm } from "../trainers/training/resolve-config.ts";
import { planStages } from "../trainers/training/stages.ts";
import type { PolicyOpener } from "./policy-opener.ts";
import { openBackend, type PreparedRun, type TrainCommandOptions } from "./prepared-run.ts";
import { openAgents } from "./run-agents.ts";

interface DryRunOptions extends TrainCommandOptions {
  readonly opener: PolicyOpener;
  /** `probe` shows whether rewards have a signal. `preflight` checks that sampler and trainer agree. */
  readonly kind: "probe" | "preflight";
}

/**
 * Runs only the checks before step 1, for each stage: `lyceum train --probe` or `lyceum preflight`. A probe leaves out
 * stages that learn from demonstrations. A stage uses the weights that the previous stage left in the output folder. If
 * there are none, it uses the initial model. Throws `preflight.failed` if a check fails.
 */
export async function dryRunCommand(runs: readonly PreparedRun[], options: DryRunOptions): Promise<void> {
  const { kind } = options;
  const { stream } = options.view;
  if (runs[0]!.name === undefined) return await dryRun(runs[0]!, runs[0]!.training, options);
  for (const [place, run] of runs.entries()) {
    const { name, training, algorithms } = run;
    const { id } = training.algorithm;
    if (kind === "probe" && createAlgorithm(training, algorithms).rollout.actor === "demonstration") {
      stream.write(`stage ${visibleText(name!)}: ${id} learns from demonstrations, nothing to probe\n`);
      continue;
    }
    const before = runs[place - 1];
    const isTrained = before !== undefined && existsSync(join(run.output, before.name!, "model"));
    const model = isTrained ? `the model of stage ${before.name!}` : "the model before the first stage";
    stream.write(`stage ${visibleText(name!)}, with ${visibleText(model)}:\n`);
    await dryRun(run, isTrained ? await continuedConfig(runs, run) : training, options);
  }
}

/** Returns the config of a stage with the weights that the previous stages left. */
async function continuedConfig(runs: readonly PreparedRun[], { name, output }: PreparedRun) {
  const stages = runs.map((run) => ({ ...run, name: run.name!, config: run.training }));
  const planned = await planStages({ stages, output, resume: true });
  return planned.find((stage) => stage.name === name)!.config;
}

async function dryRun(run: PreparedRun, training: TrainingConfig, options: DryRunOptions): Promise<void> {
  const { catalog, view, signal, opener, kind } = options;
  const { environment, environmentOptions, algorithms } = run;
  const players = await openAgents(run, opener);
  await using opened = await openBackend(run.config, { catalog, opener, signal });
  const progress = new TrainingProgress();
  using _ = showActivity(progress, view);
  const trainOptions = {
    config: training,
    ...players,
    environment,
    environmentOptions,
    algorithms,
    backend: opened.backend,
    progress,
    signal,
  };
  const { isTTY, columns } = view.stream;
  const width = isTTY === true ? Math.max(1, (columns || 80) - 1) : Number.POSITIVE_INFINITY;
  const write = (lines: readonly string[]): void => void view.stream.write(`${lines.join("\n")}\n`);
  if (kind === "probe") return write(probeLines(await probeTraining(trainOptions), width));
  const preflight = await preflightTraining(trainOptions);
  write(preflightReport(preflight, width));
  throwIfFailed(preflight);
}
