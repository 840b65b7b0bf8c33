import { invalidConfig, LyceumError } from "../../src/contract/errors/index.ts";
import { createRandom, deriveSeed } from "../../src/core/random/random.ts";
import type { ActivityMeter } from "../../src/core/training-progress.ts";
import type { UpdateSchedule } from "../algorithms/index.ts";
import type { Datum } from "../backend/datum.ts";
import type { LossTerm } from "../backend/loss-term.ts";
import type { AdamParams, LossResult, Model, PassOptions, StepMetrics } from "../backend/training-backend.ts";
import { modelOutputs } from "../data/model-outputs.ts";
import { type SampleData, sampleData, scaleDatum, trainedTokens } from "../data/sample-data.ts";
import type { TrainingSample } from "../data/training-sample.ts";
import { linearizeSequenceLoss } from "../losses/linearize-sequence-loss.ts";
import { backendTerms, type Loss, needsReference } from "../losses/loss.ts";
import { lossScales } from "../losses/loss-aggregation.ts";
import { samplerDivergence, withImportanceWeights } from "./importance-weights.ts";
import { UpdateStatistics } from "./update-statistics.ts";

/** The options of {@link updatePolicy}. */
export interface UpdateOptions {
  readonly model: Model;
  readonly samples: readonly TrainingSample[];
  readonly loss: Loss;
  readonly optimizer: AdamParams;
  /** If absent, one optimizer step on all samples. */
  readonly updates?: UpdateSchedule;
  /** The frozen model that a KL term or a preference compares with. */
  readonly reference?: Model;
  /** See {@link PassOptions}. The backend's own maximum by default. */
  readonly maxTokensPerMicroBatch?: number | undefined;
  /** Shuffles the samples if there are several minibatches. 0 by default. */
  readonly seed?: number;
  /**
   * Aborts the update before its first optimizer step. Later it is ignored, so a batch is applied completely or not at
   * all.
   */
  readonly signal?: AbortSignal;
  /** Counts sequences and trained tokens. */
  readonly meter?: ActivityMeter;
}

/**
 * Trains a model on a batch of samples. Returns metrics by name. Takes no step if there are no samples. Throws
 * `backend.not-finite` if a loss or gradient is NaN or infinite.
 */
export async function updatePolicy(options: UpdateOptions): Promise<Record<string, number>> {
  const { units, samplerKl } = await prepareSamples(options);
  const metrics = await updateModel({ ...options, units });
  return samplerKl === undefined ? metrics : { ...metrics, "kl/sampler": samplerKl };
}

/** The options of {@link updateModel}. The samples are data already. */
export interface ModelUpdate extends Omit<UpdateOptions, "samples" | "reference"> {
  /** The samples. Each is shuffled and averaged as one unit. */
  readonly units: readonly SampleData[];
}

/** Takes the optimizer steps of one batch. Returns metrics by name. */
export async function updateModel(options: ModelUpdate): Promise<Record<string, number>> {
  const { model, loss, units, updates = { epochs: 1, minibatches: 1 }, seed = 0 } = options;
  const statistics = new UpdateStatistics(backendTerms(loss), loss);
  let { signal } = options;
  options.meter?.expect(updates.epochs * units.reduce((sum, { data }) => sum + data.length, 0));
  for (let epoch = 0; epoch < updates.epochs; epoch++) {
    const order = updates.minibatches === 1 ? units : createRandom(deriveSeed(seed, epoch)).shuffle(units);
    for (const minibatch of split(order, Math.min(updates.minibatches, units.length))) {
      const { divergence, applied } = await accumulateGradient({ ...options, signal, minibatch, statistics });
      if (applied === undefined) signal?.throwIfAborted();
      const step = applied ?? (await model.optimStep(options.optimizer, { stepId: model.version + 1 }));
      checkFinite("gradient norm", step.gradientNorm, step.version);
      statistics.addStep(step);
      signal = undefined;
      if (divergence > (updates.targetKl ?? Number.POSITIVE_INFINITY)) return statistics.metrics();
    }
  }
  return statistics.metrics();
}

/**
 * Returns the data of the samples. If an importance cap is set, also returns the divergence from the sampler, per
 * token.
 */
async function prepareSamples(
  options: UpdateOptions,
): Promise<{ readonly units: SampleData[]; readonly samplerKl?: number }> {
  const { samples, loss, reference, updates, model } = options;
  let units = samples.map(sampleData);
  if (needsReference(loss)) {
    if (reference === undefined) {
      throw invalidConfig(
        "The loss has a KL term, but there is no reference model to compare with.",
        "Open a frozen model of the same source and pass it as the reference.",
      );
    }
    units = await withLogprobs(units, reference, options, (datum, referenceLogprobs) => ({
      ...datum,
      referenceLogprobs,
    }));
  }
  const cap = updates?.importanceCap;
  if (cap === undefined) return { units };
  let divergence = 0;
  let tokens = 0;
  const correctedUnits = await withLogprobs(units, model, options, (datum, logprobs) => {
    divergence += samplerDivergence(datum, logprobs);
    tokens += trainedTokens(datum);
    return withImportanceWeights(datum, logprobs, cap);
  });
  return { units: correctedUnits, ...(tokens === 0 ? {} : { samplerKl: divergence / tokens }) };
}

/** Returns the units with each datum changed by a function of the model's log-probabilities of its targets. */
async function withLogprobs(
  units: readonly SampleData[],
  model: Model,
  options: Pick<UpdateOptions, "maxTokensPerMicroBatch" | "signal" | "meter">,
  change: (datum: Datum, logprobs: Float32Array) => Datum,
): Promise<SampleData[]> {
  const results = await modelOutputs(
    units.flatMap(({ data }) => data),
    { ...options, model, output: "logprobs" },
  );
  let taken = 0;
  return units.map((unit) => ({ ...unit, data: unit.data.map((datum) => change(datum, results[taken++]!)) }));
}

/** The part of an update that belongs to one optimizer step. */
interface MinibatchUpdate extends Omit<ModelUpdate, "signal"> {
  readonly minibatch: readonly SampleData[];
  readonly statistics: UpdateStatistics;
  readonly signal: AbortSignal | undefined;
}

/**
 * Accumulates the gradient of a minibatch. Returns the policy's divergence from the policy that sampled, per token, and
 * the optimizer step if the backend has taken it with the pass.
 */
async function accumulateGradient(
  options: MinibatchUpdate,
): Promise<{ readonly divergence: number; readonly applied: StepMetrics | undefined }> {
  const { model, loss, minibatch, statistics, optimizer } = options;
  const { stateValues } = loss;
  const scaled = await scaledData(options);
  statistics.startStep();
  const together = stateValues === undefined && scaled.length > 0 ? model.trainStep?.bind(model) : undefined;
  const add = statistics.addLoss.bind(statistics);
  const applied = await addGradient(scaled, backendTerms(loss), { ...options, together, optimizer, add });
  if (stateValues !== undefined) {
    const states = scaledStates(minibatch);
    options.meter?.expect(states.length);
    await addGradient(states, [stateValues], { ...options, add: statistics.addStateValues.bind(statistics) });
  }
  return { divergence: statistics.stepDivergence, applied };
}

/**
 * Accumulates the gradient of all terms over all data. With `together`, also takes the optimizer step and returns its
 * metrics.
 */
async function addGradient(
  data: readonly Datum[],
  terms: readonly LossTerm[],
  options: Pick<ModelUpdate, "model" | "maxTokensPerMicroBatch" | "meter" | "optimizer"> & {
    readonly signal: AbortSignal | undefined;
    readonly together?: Model["trainStep"];
    readonly add: (data: readonly Datum[], result: LossResult) => void;
  },
): Promise<StepMetrics | undefined> {
  if (data.length === 0) return undefined;
  const { model, maxTokensPerMicroBatch, signal, meter, together, optimizer } = options;
  const onProgress: PassOptions["onProgress"] = ({ sequences, tokens }) => {
    meter?.add(sequences);
    meter?.addTokens(tokens);
  };
  const pass = { maxTokensPerMicroBatch, signal, onProgress };
  const stepId = model.version + 1;
  const done = await together?.(data, terms, { ...pass, adam: optimizer, stepId });
  const result = done?.loss ?? (await model.forwardBackward(data, terms, pass));
  checkFinite("loss", result.loss, stepId);
  options.add(data, result);
  return done?.step;
}

/** Returns the states of a minibatch's samples, scaled so that a value term over them is a mean. */
function scaledStates(minibatch: readonly SampleData[]): Datum[] {
  const states = minibatch.flatMap((unit) => unit.states ?? []);
  const count = states.reduce((sum, datum) => sum + trainedTokens(datum), 0);
  return states.map((datum) => scaleDatum(datum, 1 / count));
}

/** Returns the data of a minibatch, scaled so that their sum is the loss. */
async function scaledData(options: MinibatchUpdate): Promise<Datum[]> {
  const { model, loss, minibatch, statistics, maxTokensPerMicroBatch, signal, meter } = options;
  const scales = lossScales(
    loss.aggregation,
    minibatch.map(({ data }) => data.reduce((sum, datum) => sum + trainedTokens(datum), 0)),
  );
  if (loss.sequence === undefined) {
    return minibatch.flatMap(({ data }, i) => data.map((datum) => scaleDatum(datum, scales[i]!)));
  }
  const logprobs = await modelOutputs(
    minibatch.flatMap(({ data }) => data),
    { model, output: "logprobs", maxTokensPerMicroBatch, signal, meter },
  );
  const { data, value, metrics } = linearizeSequenceLoss({ units: minibatch, logprobs, loss: loss.sequence, scales });
  checkFinite("loss", value, model.version + 1);
  statistics.addSequenceLoss(value, metrics);
  return data;
}

/** Splits a list into `parts` consecutive parts whose lengths differ by at most one. */
function split<T>(items: readonly T[], parts: number): T[][] {
  return Array.from({ length: parts }, (_, i) =>
    items.slice(Math.floor((i * items.length) / parts), Math.floor(((i + 1) * items.length) / parts)),
  );
}

function checkFinite(name: string, value: number, optimizerStep: number): void {
  if (Number.isFinite(value)) return;
  throw new LyceumError({
    code: "backend.not-finite",
    message: `The ${name} is ${value} at optimizer step ${optimizerStep}.`,
    hint: "Lower the learning rate, or clip the gradient at a smaller norm.",
    data: { quantity: name, value: String(value), optimizerStep },
  });
}
