import { existsSync } from "node:fs";
import { basename, dirname, extname, join } from "node:path";
import { watchRun } from "../reports/health/index.ts";
import { createTrackers } from "../reports/trackers/index.ts";
import {
  recordedEvents,
  recordRun,
  reportFileName,
  showTraining,
  TrainingProgress,
} from "../reports/training/index.ts";
import { LyceumError } from "../src/contract/errors/index.ts";
import { visibleText } from "../src/core/text/visible-text.ts";
import { openTasks } from "../trainers/training/open-tasks.ts";
import { isCompleteStage, planStages } from "../trainers/training/stages.ts";
import { train } from "../trainers/training/train.ts";
import { engineOptions } from "./catalog.ts";
import { checkStage } from "./check-stage.ts";
import type { TrainArguments } from "./create-program.ts";
import { dryRunCommand } from "./dry-run-command.ts";
import { loadStages } from "./load-stages.ts";
import { translateOverrides } from "./migrate/translate-overrides.ts";
import { createPolicyOpener, type PolicyOpener } from "./policy-opener.ts";
import { openBackend, type PreparedRun, type TrainCommandOptions } from "./prepared-run.ts";
import { recordedKeys } from "./recorded-keys.ts";
import { resumedRun } from "./resumed-run.ts";
import { openAgents } from "./run-agents.ts";
import { configKeys, trainingPart } from "./run-config.ts";
import { runEnvironment } from "./run-environment.ts";
import { checkTrainingMemory } from "./training-memory.ts";

/**
 * Runs `lyceum train`: reads the config, trains, shows progress and records the run. Each of several stages has its own
 * folder. Returns when the run is complete. Throws `aborted` if the signal stopped it, with the command to resume as
 * hint.
 */
export async function trainCommand(args: TrainArguments, options: TrainCommandOptions): Promise<void> {
  const { catalog, signal, view } = options;
  const { set, epochs, notes } = translateOverrides(args.set, { keys: () => configKeys(catalog) });
  for (const note of notes) view.stream.write(`${visibleText(note)}\n`);
  const loaded = await loadStages({ path: args.config, overrides: set, epochs: args.numEpochs ?? epochs, catalog });
  const stageNames = loaded.map(({ name }) => name);
  const resumed =
    typeof args.resume === "string"
      ? await resumedRun(args.resume, { output: args.output, stages: stageNames })
      : args.output;
  const resume = args.resume !== false;
  const output = resumed ?? loaded[0]!.config.output ?? join("runs", basename(args.config, extname(args.config)));
  await using opener = createPolicyOpener({ catalog, engine: engineOptions(loaded[0]!.config), signal });
  const runs: PreparedRun[] = [];
  for (const { name, config, environments, algorithms } of loaded) {
    const opening = { registry: environments, open: opener.open };
    const { environment, options: environmentOptions } = await runEnvironment(config, opening);
    const checked = await checkStage({ config, algorithms }, { environment, folder: dirname(args.config) });
    const training = trainingPart(config);
    const agents = environment.spec.agents.length - checked.frozen.length;
    const isComplete = resume && name !== undefined && (await isCompleteStage(join(output, name), training));
    if (!isComplete) {
      await checkTrainingMemory(config, { algorithm: checked.algorithm, agents, stage: name, signal });
      // A later stage opens its tasks after the training of the others.
      if (loaded.length > 1) await openTasks({ ...checked, signal });
    }
    runs.push({
      name,
      config,
      training,
      environment,
      agents: checked.agents,
      environmentOptions,
      algorithms,
      output,
      resume,
    });
  }
  if (args.preflight === true) return await dryRunCommand(runs, { ...options, opener, kind: "preflight" });
  if (args.probe === true) return await dryRunCommand(runs, { ...options, opener, kind: "probe" });
  const running = { ...options, opener, runOutput: output, configPath: args.config };
  if (runs[0]!.name === undefined) return await runOne(runs[0]!, running);
  const stages = runs.map(({ name, training, ...run }) => ({ ...run, name: name!, config: training }));
  for (const { name, ...stage } of await planStages({ stages, output, resume })) {
    const run = runs.find((candidate) => candidate.name === name)!;
    view.stream.write(`stage ${visibleText(name)}\n`);
    const { config: training, output: folder, resume } = stage;
    await runOne({ ...run, training, output: folder, resume }, running);
  }
}

async function runOne(
  run: Omit<PreparedRun, "name">,
  options: TrainCommandOptions & {
    readonly opener: PolicyOpener;
    /** The folder of the command. The folder of a stage is inside it. */
    readonly runOutput: string;
    /** The path of the config. */
    readonly configPath: string;
  },
): Promise<void> {
  const { catalog, view, signal, resumeCommand, runOutput } = options;
  const { config, training, environment, environmentOptions, algorithms, output, resume } = run;
  const players = await openAgents(run, options.opener);
  await using opened = await openBackend(config, { catalog, opener: options.opener, signal });
  const { backend } = opened;
  const progress = new TrainingProgress();
  const events = train({
    config: training,
    progress,
    environment,
    environmentOptions,
    ...players,
    algorithms,
    backend,
    output,
    resume,
    signal,
  });
  const watched = watchRun(events, { settings: config.health, history: () => recordedEvents(output) });
  const recorded = recordRun(watched, {
    folder: output,
    config: recordedKeys(config, { from: dirname(options.configPath), to: output }),
    trackers: createTrackers(config.trackers, process.env),
    signal,
  });
  const end = await showTraining(recorded, { ...view, progress });

  const say = (text: string): void => {
    view.stream.write(`${visibleText(text)}\n`);
  };
  const report = join(output, reportFileName);
  if (existsSync(report)) say(`report: ${report}`);
  if (end?.exported !== undefined) {
    const { exported, exportedStep = end.step } = end;
    say(`model: ${exported}${exportedStep === end.step ? "" : ` (the best, of step ${exportedStep})`}`);
  }
  if (end?.reason === "aborted") {
    throw new LyceumError({
      code: "aborted",
      message: `Interrupted at step ${end.step}.`,
      hint:
        end.checkpoint === undefined
          ? "No checkpoint was saved."
          : `A checkpoint is saved in ${end.checkpoint}. Continue with:\n\n  ${resumeCommand(runOutput)}\n`,
    });
  }
}
