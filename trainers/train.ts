import { join } from "node:path";
import { LyceumError, toErrorData } from "../src/errors/index.ts";
import { deriveSeed } from "../src/random/random.ts";
import type {
  CheckpointEvent,
  EvaluationEvent,
  RunEndEvent,
  RunStartEvent,
  TrainingEvent,
} from "../src/report/training-event.ts";
import type { AdamParams } from "./backend/training-backend.ts";
import { configHash } from "./checkpoint/run-identity.ts";
import { writeCheckpoint } from "./checkpoint/write-checkpoint.ts";
import { collectBatch } from "./collect-batch.ts";
import { rolloutLimits, samplingSettings } from "./config/training-config.ts";
import { trainingSamples } from "./data/training-sample.ts";
import { evaluatePolicy } from "./evaluate-policy.ts";
import { exportFormat, exportModel } from "./export-model.ts";
import { learningRateAt } from "./learning-rate-schedule.ts";
import { openActor, openModelPolicy } from "./open-policy.ts";
import { rolloutMetrics, unscoredWarning, withoutPolicyMetrics } from "./rollout-metrics.ts";
import { asDemonstration, sampleEvent } from "./sample-event.ts";
import { type StepTimer, startStepTimer } from "./step-timer.ts";
import { openRun, type TrainingRun, type TrainOptions } from "./training-run.ts";
import { updatePolicy } from "./update-policy.ts";

/**
 * Trains a model in an environment, and tells of it in events. What cannot work throws before the first event.
 *
 * The last event is `run-end`. After an abort by the signal its reason is `aborted`, it names the checkpoint to resume
 * from, and the iteration ends normally. After an error its reason is `failed`, and the error is thrown after it. A
 * run that is resumed ends with the same weights, to the bit, as one that was never stopped (on a backend that is
 * deterministic).
 */
export async function* train(options: TrainOptions): AsyncGenerator<TrainingEvent, void, undefined> {
  const started = performance.now();
  const elapsed = (): number => performance.now() - started;
  await using run = await openRun(options);
  const { config, progress } = run;
  yield startEvent(run, options);
  try {
    // A run that was stopped while it evaluated has that to do still.
    if (isDue(progress.step, config.evaluation.every) || progress.step === 0) yield* evaluateHeldOut(run);
    const timer = startStepTimer();
    while (progress.step < config.training.steps) {
      options.signal?.throwIfAborted();
      yield* trainStep(run, { elapsed, timer });
      const { step } = progress;
      if (isDue(step, config.evaluation.every)) yield* evaluateHeldOut(run);
      if (isDue(step, config.checkpoint.every)) yield* saveCheckpoint(run);
    }
    yield* evaluateHeldOut(run);
    yield* saveCheckpoint(run);
    const exported = await exportTrained(run, options);
    yield { ...endEvent(run, elapsed()), reason: "completed", ...(exported === undefined ? {} : { exported }) };
  } catch (cause) {
    let failure = cause;
    if (options.signal?.aborted && isAbort(cause)) {
      try {
        yield* saveCheckpoint(run);
        yield { ...endEvent(run, elapsed()), reason: "aborted" };
        return;
      } catch (saveFailure) {
        failure = saveFailure;
      }
    }
    const error = withStep(failure, run);
    yield { ...endEvent(run, elapsed()), reason: "failed", error: toErrorData(error) };
    throw error;
  }
}

/** Plays one batch and learns from it. What was begun and did not end leaves the run's progress untouched. */
async function* trainStep(
  run: TrainingRun,
  clock: { readonly elapsed: () => number; readonly timer: StepTimer },
): AsyncGenerator<TrainingEvent, void, undefined> {
  const { config, algorithm, model, progress, reference, signal } = run;
  const step = progress.step + 1;
  const rolloutStart = performance.now();
  await using actor = await openActor(run);
  const { played, kept } = await collectBatch(run, { policy: actor.policy, step });
  const updateStart = performance.now();
  const samples = trainingSamples(kept, algorithm.advantage);
  const optimizer = adamParams(run, step);
  const updated = await updatePolicy({
    model,
    samples,
    loss: algorithm.loss,
    updates: algorithm.updates,
    optimizer,
    maxTokensPerMicroBatch: config.training.maxTokensPerMicroBatch,
    seed: deriveSeed(config.seed, "update", step),
    ...(reference === undefined ? {} : { reference }),
    ...(signal === undefined ? {} : { signal }),
  });
  const updateEnd = performance.now();

  const demonstrated = algorithm.rollout.actor === "demonstration";
  const rollouts = demonstrated ? withoutPolicyMetrics(rolloutMetrics(played)) : rolloutMetrics(played);
  const metrics = {
    ...rollouts,
    ...updated,
    "groups/trained": kept.length,
    "optimizer/learning-rate": optimizer.learningRate,
    "time/rollout-ms": updateStart - rolloutStart,
    "time/update-ms": updateEnd - updateStart,
    ...perSecond("tokens/sampled", rollouts, updateStart - rolloutStart),
    ...perSecond("tokens/trained", updated, updateEnd - updateStart),
  };
  progress.step = step;
  progress.taskCursor = run.tasks.cursor;
  progress.traceLength = (await run.trace?.flush()) ?? progress.traceLength;
  progress.metrics = { ...evaluationMetrics(progress.metrics), ...metrics };

  const { steps } = config.training;
  const etaMs = clock.timer.stepEnded({ left: steps - step });
  yield { type: "step", step, steps, metrics, elapsedMs: clock.elapsed(), etaMs };
  const unscored = unscoredWarning(played);
  if (unscored !== undefined) yield { type: "warning", step, message: unscored };
  if (samples.length === 0) {
    const message = `None of the ${played.length} groups has a signal: the weights did not change.`;
    yield { type: "warning", step, message };
  }
  const sample = isDue(step - 1, config.training.sampleEvery) ? sampleEvent(step, played) : undefined;
  if (sample !== undefined) yield demonstrated ? asDemonstration(sample) : sample;
}

async function* evaluateHeldOut(run: TrainingRun): AsyncGenerator<EvaluationEvent, void, undefined> {
  const { config, environment, pool, progress, heldOut, signal } = run;
  const { split, temperature, episodesPerTask } = config.evaluation;
  if (split === undefined || progress.evaluated === progress.step) return;
  await using actor = await openModelPolicy(run.model);
  const metrics = await evaluatePolicy({
    environment: pool,
    spec: environment.spec,
    tasks: heldOut,
    policy: actor.policy,
    groupSize: episodesPerTask,
    concurrency: config.rollout.concurrency,
    limits: rolloutLimits(config.rollout),
    sampling: { ...samplingSettings(config.sampling), temperature },
    seed: config.seed,
    ...(signal === undefined ? {} : { signal }),
  });
  progress.evaluated = progress.step;
  const prefixed = Object.entries(metrics).map(([name, value]) => [`evaluation/${name}`, value] as const);
  progress.metrics = { ...progress.metrics, ...Object.fromEntries(prefixed) };
  yield { type: "evaluation", step: progress.step, split, metrics };
}

/** Saves a checkpoint of the last finished step, unless there is one. */
async function* saveCheckpoint(run: TrainingRun): AsyncGenerator<CheckpointEvent, void, undefined> {
  const { config, progress, model, checkpoints, environment } = run;
  const { step, taskCursor, metrics, evaluated, traceLength } = progress;
  if (progress.checkpoint?.step === step) return;
  const path = await writeCheckpoint({
    folder: checkpoints,
    model,
    keep: config.checkpoint.keep,
    manifest: {
      schemaVersion: 1,
      step,
      taskCursor,
      environment: environment.spec.id,
      configHash: configHash(run.identity),
      config: run.identity,
      metrics,
      evaluated: evaluated === step,
      ...(traceLength === undefined ? {} : { traceLength }),
    },
  });
  progress.checkpoint = { path, step };
  yield { type: "checkpoint", step, path };
}

/** Where the backend can, writes the trained model to `model/` and returns that folder. */
async function exportTrained(run: TrainingRun, { backend }: TrainOptions): Promise<string | undefined> {
  const format = exportFormat(run.config, backend.capabilities);
  if (format === undefined) return undefined;
  const folder = join(run.output, "model");
  await exportModel({ model: run.model, folder, format });
  return folder;
}

function startEvent(run: TrainingRun, { backend }: TrainOptions): RunStartEvent {
  const { config, environment, model, progress } = run;
  const { path, scratch, device } = config.model;
  return {
    type: "run-start",
    algorithm: config.algorithm.id,
    environment: environment.spec.id,
    model: {
      name: path ?? `${scratch!.family} from scratch`,
      trainableParameters: model.parameterCount,
      device: backend.capabilities.device ?? device,
    },
    seed: config.seed,
    steps: config.training.steps,
    resumedFrom: progress.step,
  };
}

function endEvent({ progress }: TrainingRun, elapsedMs: number): Omit<RunEndEvent, "reason"> {
  const { step, checkpoint } = progress;
  return { type: "run-end", step, elapsedMs, ...(checkpoint === undefined ? {} : { checkpoint: checkpoint.path }) };
}

function adamParams({ config }: TrainingRun, step: number): AdamParams {
  const { learningRate, schedule, warmupSteps, finalLearningRateFraction, steps, ...optimization } = config.training;
  const { beta1, beta2, epsilon, weightDecay, clipNorm } = optimization;
  const rate = learningRateAt(
    { peak: learningRate, shape: schedule, warmupSteps, finalFraction: finalLearningRateFraction, steps },
    step,
  );
  return { learningRate: rate, beta1, beta2, epsilon, weightDecay, clipNorm };
}

/** The metric `<tokens>-per-second`, where there were any. */
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

/** What the last evaluation found, carried along until the next one. */
function evaluationMetrics(metrics: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(metrics).filter(([name]) => name.startsWith("evaluation/")));
}

function isAbort(error: unknown): boolean {
  return toErrorData(error).code === "aborted";
}

/** An error of the weights names the step that it came in, and the checkpoint that is still good. */
function withStep(error: unknown, { progress }: TrainingRun): unknown {
  if (!LyceumError.isInstance(error) || error.code !== "backend.not-finite") return error;
  const { checkpoint } = progress;
  const step = progress.step + 1;
  const wayBack =
    checkpoint === undefined
      ? "No checkpoint was written: start anew."
      : `The checkpoint ${checkpoint.path} is from before it. A run with other settings starts anew in a folder of its own.`;
  return new LyceumError({
    code: error.code,
    message: `Step ${step}: ${error.message}`,
    hint: `${error.hint ?? "Lower the learning rate."} ${wayBack}`,
    data: { step, ...(checkpoint === undefined ? {} : { checkpoint: checkpoint.path }) },
    cause: error,
  });
}
