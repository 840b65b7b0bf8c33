import { LyceumError } from "../src/errors/index.ts";
import { createRandom, deriveSeed } from "../src/random/random.ts";
import type { UpdateSchedule } from "./algorithms/index.ts";
import type { Datum } from "./backend/datum.ts";
import type { AdamParams, Model } from "./backend/training-backend.ts";
import { microBatches } from "./data/micro-batches.ts";
import { withReferenceLogprobs } from "./data/reference-logprobs.ts";
import { sampleData, scaleDatum, trainedTokens } from "./data/sample-data.ts";
import type { TrainingSample } from "./data/training-sample.ts";
import { type Loss, needsReference } from "./losses/loss.ts";
import { lossScales } from "./losses/loss-aggregation.ts";
import { UpdateStatistics } from "./update-statistics.ts";

/** What {@link updatePolicy} trains, on what, and how. */
export interface UpdateOptions {
  readonly model: Model;
  readonly samples: readonly TrainingSample[];
  readonly loss: Loss;
  readonly optimizer: AdamParams;
  /** One optimizer step on everything when absent. */
  readonly updates?: UpdateSchedule;
  /** The frozen model that a KL term compares with. */
  readonly reference?: Model;
  /** 4096 by default. */
  readonly maxTokensPerMicroBatch?: number;
  /** Shuffles the samples where there are several minibatches. */
  readonly seed?: number;
  /** Heeded until the first optimizer step is taken: a batch is applied whole or not at all. */
  readonly signal?: AbortSignal;
}

/** The samples of one optimizer step, with their data. */
type PreparedSample = readonly Datum[];

/**
 * Trains a model on a batch of samples. Returns metrics by name; without any samples no step is taken. Throws
 * `backend.not-finite` for a loss or gradient that is NaN or infinite.
 */
export async function updatePolicy(options: UpdateOptions): Promise<Record<string, number>> {
  const { model, loss, samples, updates = { epochs: 1, minibatches: 1 }, seed = 0 } = options;
  const prepared = await prepareSamples(options);
  const statistics = new UpdateStatistics(loss.terms);
  let { signal } = options;
  for (let epoch = 0; epoch < updates.epochs; epoch++) {
    const order = updates.minibatches === 1 ? prepared : createRandom(deriveSeed(seed, epoch)).shuffle(prepared);
    for (const minibatch of split(order, Math.min(updates.minibatches, samples.length))) {
      await accumulateGradient({ ...options, signal, minibatch, statistics });
      signal?.throwIfAborted();
      const step = await model.optimStep(options.optimizer, { stepId: model.version + 1 });
      checkFinite("gradient norm", step.gradientNorm, step.version);
      statistics.addStep(step);
      signal = undefined;
    }
  }
  return statistics.metrics();
}

async function prepareSamples(options: UpdateOptions): Promise<PreparedSample[]> {
  const { samples, loss, reference, maxTokensPerMicroBatch = 4096, signal } = options;
  const perSample = samples.map(sampleData);
  if (!needsReference(loss)) return perSample;
  if (reference === undefined) {
    throw new LyceumError({
      code: "config.invalid",
      message: "The loss has a KL term, and there is no reference model to compare with.",
      hint: "Open a frozen model of the same source and pass it as the reference.",
    });
  }
  const filled = await withReferenceLogprobs(perSample.flat(), {
    reference,
    maxTokensPerMicroBatch,
    ...(signal === undefined ? {} : { signal }),
  });
  let taken = 0;
  return perSample.map((data) => {
    taken += data.length;
    return filled.slice(taken - data.length, taken);
  });
}

async function accumulateGradient(
  options: Omit<UpdateOptions, "signal"> & {
    readonly minibatch: readonly PreparedSample[];
    readonly statistics: UpdateStatistics;
    readonly signal: AbortSignal | undefined;
  },
): Promise<void> {
  const { model, loss, minibatch, statistics, maxTokensPerMicroBatch = 4096, signal } = options;
  const scales = lossScales(
    loss.aggregation,
    minibatch.map((data) => data.reduce((sum, datum) => sum + trainedTokens(datum), 0)),
  );
  const scaled = minibatch.flatMap((data, i) => data.map((datum) => scaleDatum(datum, scales[i]!)));
  const lengths = scaled.map((datum) => datum.tokens.length);
  for (const indices of microBatches(lengths, maxTokensPerMicroBatch)) {
    const data = indices.map((index) => scaled[index]!);
    const result = await model.forwardBackward(data, loss.terms, signal === undefined ? {} : { signal });
    checkFinite("loss", result.loss, model.version + 1);
    statistics.addLoss(data, result);
  }
}

/** `parts` stretches of a list, of equal length give or take one. */
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
