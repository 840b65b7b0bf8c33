import type { AgentId } from "../../src/contract/action.ts";
import type { Episode } from "../../src/contract/episode.ts";
import { LyceumError, toErrorData, unknownNameError } from "../../src/contract/errors/index.ts";
import type {
  CheckpointEvent,
  PreflightEvent,
  ProbeEvent,
  RunEndEvent,
  RunStartEvent,
  TrainingEvent,
  TrainingWarningEvent,
} from "../../src/contract/training-event.ts";
import { registerSavedWork } from "../../src/core/files/saved-work.ts";
import { withoutSecretValues } from "../../src/core/text/secrets.ts";
import { defaultRule, definesCorrect } from "../../src/evaluation/correctness.ts";
import type { AdamParams } from "../backend/training-backend.ts";
import { isBetter, writeBestCheckpoint } from "../checkpoint/best-checkpoint.ts";
import type { CheckpointManifest } from "../checkpoint/checkpoint-manifest.ts";
import { configHash } from "../checkpoint/run-identity.ts";
import { writeCheckpoint } from "../checkpoint/write-checkpoint.ts";
import { evaluateRun } from "../evaluation/evaluate-run.ts";
import { playedMetrics } from "../metrics/played-metrics.ts";
import { throwIfFailed } from "../preflight/preflight-error.ts";
import { preflightRun } from "../preflight/preflight-run.ts";
import { type Probed, probeBatch } from "../probe/probe-signal.ts";
import { type Batch, type BatchSource, openBatches } from "../rollouts/collect-batch.ts";
import { asDemonstration, sampleEvent } from "../rollouts/sample-event.ts";
import { trainedModels } from "../run/learners.ts";
import type { TrainingRun, TrainOptions } from "../run/training-run.ts";
import { changedTaskWarning } from "../tasks/task-warnings.ts";
import { learningRateAt } from "../update/learning-rate-schedule.ts";
import { updateLearners } from "../update/update-learners.ts";
import { type Exported, exportTrained } from "./export-trained.ts";
import { openRun } from "./open-run.ts";
import { type StepTimer, startStepTimer } from "./remaining-time.ts";
import { stepWarnings } from "./step-warnings.ts";

/**
 * Trains a model in an environment and yields events. Throws before the first event if the run cannot work.
 *
 * The last event is `run-end`. After an abort by the signal, its reason is `aborted`, it names the checkpoint to resume
 * from, and the iteration ends normally. After an error, its reason is `failed`, and the error is thrown after the
 * event. On a deterministic backend, a resumed run ends with exactly the same weights as a run without an interruption.
 */
export async function* train(options: TrainOptions): AsyncGenerator<TrainingEvent, void, undefined> {
  const started = performance.now();
  const elapsed = (): number => performance.now() - started;
  await using run = await openRun(options);
  const { config, progress } = run;
  yield startEvent(run, options);
  using _saved = registerSavedWork(() => savedText(progress));
  for (const message of run.notes) yield { type: "warning", step: progress.step, message };
  if (progress.step > 0 && config.rollout.maxStaleness > 0) yield notRepeatable(progress.step);
  try {
    if (config.preflight) yield* runPreflight(run, options);
    let watched = await run.tasks.peek(watchedTasks, { signal: options.signal });
    await using batches = openBatches(run);
    const isProbed = progress.step === 0 && config.probe.groups > 0 && run.algorithm.rollout.actor === "policy";
    const probed = isProbed ? await batches.first(1) : undefined;
    if (probed !== undefined) yield* probeRewards(run, { batch: probed, first: watched[0] });
    // A run that was stopped during an evaluation repeats it.
    if (isDue(progress.step, config.evaluation.every) || progress.step === 0) yield* evaluateHeldOut(run);
    const timer = startStepTimer({ spentMs: probed?.rolloutMs ?? 0 });
    while (progress.step < run.steps) {
      options.signal?.throwIfAborted();
      yield* trainStep(run, { elapsed, timer, batches });
      const changed = changedTaskWarning(watched);
      watched = [];
      if (changed !== undefined) yield { type: "warning", step: progress.step, message: changed };
      const { step } = progress;
      if (isDue(step, config.evaluation.every)) yield* evaluateHeldOut(run);
      if (isDue(step, config.checkpoint.every)) yield* saveCheckpoint(run);
    }
    yield* evaluateHeldOut(run);
    yield* saveCheckpoint(run);
    const exported = await exportTrained(run, options.backend.capabilities);
    yield* closeInstances(run);
    if (exported !== undefined && config.export.from === "best" && !exported.best) yield noBest(run);
    if (!progress.trained) yield nothingTrained(run);
    yield { ...endEvent(run, elapsed()), reason: "completed", ...(exported && exportFields(exported)) };
  } catch (cause) {
    let failure = cause;
    if (options.signal?.aborted && isAbort(cause)) {
      try {
        yield* saveCheckpoint(run);
        yield* closeInstances(run);
        yield { ...endEvent(run, elapsed()), reason: "aborted" };
        return;
      } catch (saveFailure) {
        failure = saveFailure;
      }
    }
    const error = withStep(failure, run);
    yield* closeInstances(run);
    yield { ...endEvent(run, elapsed()), reason: "failed", error: toErrorData(error) };
    throw error;
  }
}

/** The number of tasks that are compared before and after the first step. Episodes must not change them. */
const watchedTasks = 4;

/** Checks the run before its first step. Throws `preflight.failed` after the event if a check fails. */
async function* runPreflight(
  run: TrainingRun,
  { backend }: Pick<TrainOptions, "backend">,
): AsyncGenerator<PreflightEvent, void, undefined> {
  const preflight = await preflightRun(run, backend.capabilities);
  yield preflight;
  throwIfFailed(preflight);
}

/** Reports the batch of the first step before it learns, and warns if its rewards have no signal. */
async function* probeRewards(
  run: TrainingRun,
  played: Parameters<typeof probeBatch>[1],
): AsyncGenerator<ProbeEvent | TrainingWarningEvent, void, undefined> {
  let probed: Probed;
  try {
    probed = await probeBatch(run, played);
  } catch (error) {
    if (run.signal?.aborted === true) throw error;
    // Only a warning: the batch is played, and only the repetition of an episode can fail.
    yield { type: "warning", step: 0, message: `The probe failed: ${toErrorData(error).message}` };
    return;
  }
  const { probe, episodes } = probed;
  yield probe;
  yield* warnOfEpisodes(run, episodes);
  if (probe.withSignal > 0 || (probe.metrics["groups/solved"] ?? 0) >= 0.5) return;
  const message =
    "The probe found no signal. Steps on such rewards do not change the weights. See the advice of the probe.";
  yield { type: "warning", step: 0, message };
}

/** Plays one batch and learns from it. If the step does not finish, the run's progress is unchanged. */
async function* trainStep(
  run: TrainingRun,
  clock: { readonly elapsed: () => number; readonly timer: StepTimer; readonly batches: BatchSource },
): AsyncGenerator<TrainingEvent, void, undefined> {
  const { config, algorithm, progress } = run;
  const step = progress.step + 1;
  const batch = await clock.batches.next(step);
  const { played, kept, pool, rolloutMs } = batch;
  const updateStart = performance.now();
  const optimizer = adamParams(run, step);
  const updated = await updateLearners(run, { experience: kept, step, optimizer });
  const updateEnd = performance.now();

  const groups = played.map(({ group }) => group);
  const rollouts = playedMetrics(run, played);
  const metrics = {
    ...rollouts,
    ...updated,
    "groups/trained": kept.groups.length,
    ...overlongMetrics(run, batch),
    ...(pool === undefined ? {} : { "curriculum/tasks": pool }),
    "optimizer/learning-rate": optimizer.learningRate,
    ...(batch.staleness === 0 ? {} : { "rollout/staleness": batch.staleness }),
    "time/rollout-ms": rolloutMs,
    "time/update-ms": updateEnd - updateStart,
    ...perSecond("tokens/sampled", rollouts, rolloutMs),
    ...perSecond("tokens/trained", updated, updateEnd - updateStart),
  };
  if (updated["optimizer/steps"] !== 0 && updated["optimizer/gradient-norm"] !== 0) progress.trained = true;
  progress.step = step;
  progress.taskCursor = batch.taskCursor;
  progress.traceLength = batch.traceLength ?? progress.traceLength;
  progress.metrics = { ...evaluationMetrics(progress.metrics), ...metrics };

  const { steps } = run;
  const etaMs = clock.timer.stepEnded({ left: steps - step });
  yield { type: "step", step, steps, metrics, elapsedMs: clock.elapsed(), etaMs, traceLength: batch.traceLength };
  for (const message of stepWarnings(run, { groups, metrics })) yield { type: "warning", step, message };
  const frozen = new Set(Object.keys(run.frozen));
  const sample = isDue(step - 1, config.training.sampleEvery) ? sampleEvent(step, { groups, frozen }) : undefined;
  if (sample === undefined) return;
  yield algorithm.rollout.actor === "demonstration" ? asDemonstration(sample) : sample;
}

/** Returns how many demonstrated episodes were too long for a model. */
function overlongMetrics(
  { algorithm }: Pick<TrainingRun, "algorithm">,
  { overlong }: Pick<Batch, "overlong">,
): Record<string, number> {
  if (algorithm.rollout.actor !== "demonstration") return {};
  return { "data/truncated": overlong.truncated, "data/dropped": overlong.dropped };
}

async function* evaluateHeldOut(run: TrainingRun): AsyncGenerator<TrainingEvent, void, undefined> {
  const { config, progress } = run;
  const { split } = config.evaluation;
  if (split === undefined || progress.evaluated === progress.step) return;
  const { episodes, metrics } = await evaluateRun(run);
  progress.evaluated = progress.step;
  const prefixed = Object.entries(metrics).map(([name, value]) => [`evaluation/${name}`, value] as const);
  progress.metrics = { ...progress.metrics, ...Object.fromEntries(prefixed) };
  yield { type: "evaluation", step: progress.step, split, opponent: run.opponent?.name, metrics };
  yield* warnOfEpisodes(run, episodes);
  yield* keepBest(run);
}

/** Closes the environment's instances, and warns of those that fail to close. */
async function* closeInstances(run: TrainingRun): AsyncGenerator<TrainingWarningEvent, void, undefined> {
  await run.pool.close();
  yield* warnOfEpisodes(run, []);
}

/** Warns about each mistake of the environment once. */
function* warnOfEpisodes(
  { warnings, progress }: TrainingRun,
  episodes: readonly Episode[],
): Generator<TrainingWarningEvent, void, undefined> {
  for (const message of warnings.of(episodes)) yield { type: "warning", step: progress.step, message };
}

/** Saves the model as `checkpoints/best` after an evaluation if it is better than the best so far. */
async function* keepBest(run: TrainingRun): AsyncGenerator<CheckpointEvent | TrainingWarningEvent, void, undefined> {
  const { config, progress, learners, checkpoints } = run;
  const { best } = config.checkpoint;
  if (best === undefined) return;
  const { step, metrics } = progress;
  const value = metrics[best.metric];
  if (value === undefined) {
    const known = Object.keys(metrics).filter((name) => name.startsWith("evaluation/"));
    if (step === 0) throw unknownNameError({ kind: "metric", name: best.metric, known });
    const message = `This evaluation has no metric ${best.metric}. The best checkpoint is unchanged.`;
    yield { type: "warning", step, message };
    return;
  }
  if (!isBetter(value, progress.best, best)) return;
  const path = await writeBestCheckpoint({
    folder: checkpoints,
    models: trainedModels(learners),
    manifest: checkpointManifest(run),
  });
  progress.best = value;
  yield { type: "checkpoint", step, path };
}

/** Saves a checkpoint of the last finished step, unless it exists. */
async function* saveCheckpoint(run: TrainingRun): AsyncGenerator<CheckpointEvent, void, undefined> {
  const { config, progress, learners, checkpoints } = run;
  const { step } = progress;
  if (progress.checkpoint?.step === step) return;
  const path = await writeCheckpoint({
    folder: checkpoints,
    models: trainedModels(learners),
    keep: config.checkpoint.keep,
    manifest: checkpointManifest(run),
  });
  progress.checkpoint = { path, step };
  yield { type: "checkpoint", step, path };
}

/** Returns the text that tells the user which work is saved if the process is killed. */
function savedText({ checkpoint }: TrainingRun["progress"]): string {
  return checkpoint === undefined
    ? "The run had not saved a checkpoint yet. checkpoint.every sets how often it does."
    : `The checkpoint of step ${checkpoint.step} is in ${checkpoint.path}. Continue from it with --resume.`;
}

/** Returns the manifest of a checkpoint of the last finished step. */
function checkpointManifest({ progress, environment, identity }: TrainingRun): CheckpointManifest {
  const { step, taskCursor, metrics, evaluated, trained, traceLength } = progress;
  return {
    step,
    taskCursor,
    environment: environment.spec.id,
    configHash: configHash(identity),
    config: identity,
    metrics,
    evaluated: evaluated === step,
    trained,
    traceLength,
  };
}

function startEvent(run: TrainingRun, { backend, environmentOptions }: TrainOptions): RunStartEvent {
  const { config, environment, learners, progress } = run;
  const recorded = { environment: { id: environment.spec.id, ...environmentOptions }, ...config };
  const { path, scratch, device } = config.model;
  return {
    type: "run-start",
    algorithm: config.algorithm.id,
    environment: environment.spec.id,
    model: {
      name: path ?? `${scratch!.family} from scratch`,
      trainableParameters: learners.policies.reduce((sum, { model }) => sum + model.parameterCount, 0),
      device: backend.capabilities.device ?? device,
    },
    ...(backend.capabilities.machine === undefined ? {} : { machine: backend.capabilities.machine }),
    ...(environment.spec.agents.length === 1 ? {} : { agents: agentPolicies(run) }),
    rewardRange: environment.spec.rewardRange,
    ...(definesCorrect(defaultRule(environment.spec)) ? {} : { definesCorrect: false }),
    seed: config.seed,
    learningRate: { value: config.training.learningRate, defaultOf: run.defaultRateOf },
    steps: run.steps,
    config: withoutSecretValues(JSON.parse(JSON.stringify(recorded))),
    resumedFrom: progress.step,
  };
}

/** Returns, by agent, the name of the model or frozen policy that plays it. */
function agentPolicies({ config, environment, frozen }: TrainingRun): NonNullable<RunStartEvent["agents"]> {
  const nameOf = (agent: AgentId): string => {
    const { path, scratch } = config.agents.models[agent] ?? config.model;
    return path ?? `${scratch!.family} from scratch`;
  };
  return Object.fromEntries(
    environment.spec.agents.map((agent) => {
      const policy = frozen[agent];
      return [agent, policy === undefined ? { policy: nameOf(agent) } : { policy: policy.name, frozen: true }];
    }),
  );
}

/** Returns the warning of a resumed run that plays ahead. The batch that was played ahead is not in the checkpoint. */
function notRepeatable(step: number): TrainingWarningEvent {
  const message =
    "Batches are played one step ahead (rollout.maxStaleness). The first batch after a resume is sampled by newer weights than in a run without an interruption, so the final weights will differ.";
  return { type: "warning", step, message };
}

function exportFields({ folder, step }: Exported): Pick<RunEndEvent, "exported" | "exportedStep"> {
  return { exported: folder, exportedStep: step };
}

function nothingTrained({ progress }: TrainingRun): TrainingWarningEvent {
  const message =
    "Nothing was trained: no step had a signal to learn from, and the weights are those of the start. The probe and the " +
    "warnings of the steps say why. lyceum check tests the environment.";
  return { type: "warning", step: progress.step, message };
}

function noBest({ progress, config }: TrainingRun): TrainingWarningEvent {
  const message = `No evaluation had the metric ${config.checkpoint.best?.metric}. The last model was exported instead of the best.`;
  return { type: "warning", step: progress.step, message };
}

function endEvent({ progress }: TrainingRun, elapsedMs: number): Omit<RunEndEvent, "reason"> {
  const { step, checkpoint, trained } = progress;
  return { type: "run-end", step, elapsedMs, checkpoint: checkpoint?.path, ...(trained ? {} : { untrained: true }) };
}

function adamParams({ config, steps }: TrainingRun, step: number): AdamParams {
  const { learningRate, schedule, warmupSteps, finalLearningRateFraction, ...optimization } = config.training;
  const { beta1, beta2, epsilon, weightDecay, clipNorm } = optimization;
  const rate = learningRateAt(
    { peak: learningRate, shape: schedule, warmupSteps, finalFraction: finalLearningRateFraction, steps },
    step,
  );
  return { learningRate: rate, beta1, beta2, epsilon, weightDecay, clipNorm };
}

/** Returns the metric `<tokens>-per-second`, or nothing if there were no tokens. */
function perSecond(
  tokens: string,
  metrics: Readonly<Record<string, number>>,
  milliseconds: number,
): Record<string, number> {
  const count = metrics[tokens] ?? 0;
  return count === 0 ? {} : { [`${tokens}-per-second`]: (count * 1000) / milliseconds };
}

function isDue(step: number, every: number): boolean {
  return every > 0 && step % every === 0;
}

/** Returns the metrics of the last evaluation, which are kept until the next one. */
function evaluationMetrics(metrics: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(metrics).filter(([name]) => name.startsWith("evaluation/")));
}

function isAbort(error: unknown): boolean {
  return toErrorData(error).code === "aborted";
}

/** Adds the step and the last good checkpoint to an error of the weights. */
function withStep(error: unknown, { progress }: TrainingRun): unknown {
  if (!LyceumError.isInstance(error) || error.code !== "backend.not-finite") return error;
  const { checkpoint } = progress;
  const step = progress.step + 1;
  const wayBack =
    checkpoint === undefined
      ? "No checkpoint was written. Start the run again."
      : `The checkpoint ${checkpoint.path} is from before the error. A run with other settings needs a new output folder.`;
  return new LyceumError({
    code: error.code,
    message: `Step ${step}: ${error.message}`,
    hint: `${error.hint ?? "Lower the learning rate."} ${wayBack}`,
    data: { step, ...(checkpoint === undefined ? {} : { checkpoint: checkpoint.path }) },
    cause: error,
  });
}
