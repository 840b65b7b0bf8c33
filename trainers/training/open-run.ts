import { join } from "node:path";
import type { AgentId } from "../../src/contract/action.ts";
import { toErrorData } from "../../src/contract/errors/index.ts";
import { isJsonObject } from "../../src/contract/json.ts";
import type { Policy } from "../../src/contract/policy.ts";
import { checkVersion } from "../../src/contract/specification-version.ts";
import { makeFolder } from "../../src/core/files/make-folder.ts";
import { lockRun } from "../../src/core/files/run-lock.ts";
import { EnvironmentPool } from "../../src/core/rollout/environment-pool.ts";
import { EpisodeWarnings } from "../../src/core/rollout/episode-warnings.ts";
import { createIndexedTraceWriter } from "../../src/core/trace/indexed-trace-writer.ts";
import type { TraceWriter } from "../../src/core/trace/trace-writer.ts";
import { TrainingProgress } from "../../src/core/training-progress.ts";
import type { Model, TrainingBackend } from "../backend/training-backend.ts";
import { bestCheckpointPath, readBestCheckpoint } from "../checkpoint/best-checkpoint.ts";
import type { CheckpointManifest } from "../checkpoint/checkpoint-manifest.ts";
import type { Checkpoint } from "../checkpoint/find-checkpoints.ts";
import { renameDamaged, resumedCheckpoint } from "../checkpoint/resumed-checkpoint.ts";
import { checkSameRun, runIdentity, sameEvaluation } from "../checkpoint/run-identity.ts";
import { checkConfig } from "../config/training-config.ts";
import { removeLaterEvaluations } from "../evaluation/evaluation-folders.ts";
import { evaluationOpponent } from "../evaluation/evaluation-opponent.ts";
import { needsReference } from "../losses/loss.ts";
import { startingModels } from "../models/team-models.ts";
import { createRewardProcessors } from "../rewards/reward-processor-config.ts";
import { frozenPolicies } from "../run/frozen-agents.ts";
import { openLearners, planLearners, trainedModels } from "../run/learners.ts";
import type { TrainingRun, TrainOptions } from "../run/training-run.ts";
import { duplicateWarning } from "../tasks/task-warnings.ts";
import { checkPrograms } from "./agent-programs.ts";
import { checkBackendSupport, checkStaleness } from "./check-backend-support.ts";
import { checkDemonstrations, checkRun } from "./check-run.ts";
import { exportStart } from "./export-start.ts";
import { openTasks } from "./open-tasks.ts";
import { createAlgorithm, withLearningRate } from "./resolve-config.ts";
import { traceLoss } from "./trace-loss.ts";

/**
 * Opens a run: checks everything that can be checked before the first step, locks the folder, opens the models and
 * restores the checkpoint. Throws `config.invalid` (also if another process writes the run), `config.unknown-name`,
 * `backend.unsupported`, `checkpoint.unusable`, `trace.write-failed` if the folder cannot be written, and `data.*`.
 */
export async function openRun(options: TrainOptions): Promise<TrainingRun> {
  const { environment, backend, output, signal, policies = {}, programs = {} } = options;
  checkVersion(`Backend "${backend.capabilities.name}"`, backend);
  const checked = checkConfig(options.config, options.algorithms);
  const algorithm = createAlgorithm(checked, options.algorithms);
  const frozenNames = [...new Set([...Object.keys(policies), ...Object.keys(checked.agents.policies)])];
  const { agents } = environment.spec;
  const programNames = [...Object.keys(programs), ...Object.keys(checked.agents.programs)];
  checkRun({ config: checked, algorithm, environment, frozen: frozenNames, programs: programNames });
  checkBackendSupport({ config: checked, algorithm, capabilities: backend.capabilities });
  checkPrograms({ given: programs, named: checked.agents.programs });
  checkDemonstrations({ config: checked, algorithm, environment, frozen: frozenNames }, programs);
  const frozen = frozenPolicies({
    given: policies,
    named: checked.agents.policies,
    sampling: checked.sampling,
  });
  const opponent = evaluationOpponent({ given: options.opponent, config: checked, environment, frozen: frozenNames });
  const processors = createRewardProcessors(checked.rewards);

  await using resources = new AsyncDisposableStack();
  resources.use(await lockRun(output));
  const checkpoints = join(output, "checkpoints");
  const { checkpoint, warnings } = await resumedCheckpoint(checkpoints, options.resume === true);
  const notes = [...warnings];
  const resolution = await withLearningRate(checked, { algorithm, recorded: recordedRate(checkpoint) });
  const { config } = resolution;
  const identity = runIdentity({
    config,
    environment: environment.spec.id,
    environmentOptions: options.environmentOptions ?? {},
    policies: { ...namesOf(policies), ...config.agents.policies, ...options.recorded?.policies },
    programs: { ...namesOf(programs), ...config.agents.programs },
    opponent: options.recorded?.opponent ?? config.evaluation.opponent ?? options.opponent?.name,
  });
  if (checkpoint !== undefined) checkSameRun(checkpoint, identity, options.algorithms);
  const { tasks, heldOut, dropped, order, steps } = await openTasks({
    ...{ config, algorithm, environment, frozen: frozenNames, signal },
    cursor: checkpoint?.manifest.taskCursor,
  });
  notes.push(...dropped);
  // A mixture repeats its shorter parts.
  const duplicates = environment.environmentOf === undefined ? await duplicateWarning(tasks, { signal }) : undefined;
  if (duplicates !== undefined) notes.push(duplicates);

  const open = async (spec: Parameters<TrainingBackend["openModel"]>[0]): Promise<Model> => {
    const model = await backend.openModel(spec, { signal });
    resources.defer(() => model.close());
    return model;
  };
  const trained = agents.filter((agent) => !frozenNames.includes(agent));
  const starting = await startingModels(config, {
    agents: { all: agents, trained },
    exported: (path) => exportStart(path, { run: output, keep: checkpoint !== undefined, backend, signal }),
  });
  const learners = await openLearners({
    plan: planLearners({ ...starting, seed: config.seed }, agents, frozenNames),
    credit: algorithm.credit,
    needsReference: needsReference(algorithm.loss) || algorithm.credit.needsReference === true,
    open,
  });
  const models = learners.policies.map(({ model }) => model);
  checkStaleness(config, { models, capabilities: backend.capabilities });
  if (checkpoint !== undefined) {
    for (const [folder, model] of trainedModels(learners)) await model.load(join(checkpoint.path, folder));
  }
  const episodeWarnings = new EpisodeWarnings(environment);
  const onCloseError = episodeWarnings.closeFailed.bind(episodeWarnings);
  const pool = resources.use(new EnvironmentPool(environment, { onCloseError }));
  const manifest = checkpoint?.manifest;
  await removeLaterEvaluations(output, manifest?.step ?? -1);
  const lost = config.rollout.trace ? await traceLoss(tracePath(output), manifest?.traceLength ?? 0) : undefined;
  if (lost !== undefined) notes.push(lost);
  const trace = config.rollout.trace ? resources.use(await openTrace(output, manifest)) : undefined;
  const traceLength = (await trace?.flush()) ?? manifest?.traceLength;
  const evaluated = manifest?.evaluated === true && sameEvaluation(manifest.config, identity);
  const best = manifest === undefined ? undefined : await intactBestCheckpoint(checkpoints, notes);
  const comparable = best !== undefined && sameEvaluation(best.config, identity);
  const owned = resources.move();

  return {
    ...resolution,
    steps,
    identity,
    algorithm,
    environment,
    pool,
    trace,
    learners,
    warnings: episodeWarnings,
    frozen,
    programs,
    opponent,
    rewardProcessors: processors,
    tasks: order,
    heldOut,
    output,
    checkpoints,
    signal,
    activity: options.progress ?? new TrainingProgress(),
    namedGroups: new Set(),
    notes,
    progress: {
      step: manifest?.step ?? 0,
      taskCursor: order.cursor,
      metrics: { ...manifest?.metrics },
      checkpoint: checkpoint && { path: checkpoint.path, step: checkpoint.manifest.step },
      evaluated: evaluated ? manifest.step : undefined,
      best: comparable ? best.metrics[config.checkpoint.best?.metric ?? ""] : undefined,
      warnedOverlong: false,
      trained: manifest?.trained ?? models.some(({ version }) => version > 0),
      traceLength,
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function namesOf(policies: Readonly<Record<AgentId, Pick<Policy, "name">>>): Readonly<Record<AgentId, string>> {
  return Object.fromEntries(Object.entries(policies).map(([agent, { name }]) => [agent, name]));
}

function recordedRate(checkpoint: Checkpoint | undefined): number | undefined {
  const config = checkpoint?.manifest.config;
  const training = isJsonObject(config) && isJsonObject(config.training) ? config.training : {};
  return typeof training.learningRate === "number" ? training.learningRate : undefined;
}

/**
 * Opens the trace. A resumed run truncates it to the checkpoint, because the steps after it are played again. A new run
 * overwrites the trace of an earlier run that left no checkpoint.
 */
async function openTrace(output: string, manifest: CheckpointManifest | undefined): Promise<TraceWriter> {
  await makeFolder(output);
  const length = manifest === undefined ? 0 : manifest.traceLength;
  return createIndexedTraceWriter({
    path: tracePath(output),
    append: length === undefined ? true : { length },
  });
}

function tracePath(output: string): string {
  return join(output, "trace.jsonl");
}

/**
 * Returns the manifest of the best checkpoint. A damaged one is renamed, with a note, and the next evaluation starts
 * again.
 */
async function intactBestCheckpoint(checkpoints: string, notes: string[]): Promise<CheckpointManifest | undefined> {
  const path = bestCheckpointPath(checkpoints);
  try {
    return await readBestCheckpoint(checkpoints);
  } catch (error) {
    const kept = await renameDamaged(path);
    notes.push(
      `The best checkpoint is damaged and was renamed to ${kept}. The best of the following evaluations replaces it. ` +
        `(${toErrorData(error).message})`,
    );
    return undefined;
  }
}
