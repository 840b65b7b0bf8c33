import assert from "node:assert/strict";
import type { Sample, SampleRequest, Sampler } from "../../src/contract/sampler.ts";
import { createRandom } from "../../src/core/random/random.ts";
import { type Datum, datumFromIds } from "../backend/datum.ts";
import type { AdamParams, Model, ModelSpec, TrainingBackend } from "../backend/training-backend.ts";

/** One kind of model of a backend under test. */
export interface ModelSubject {
  readonly backend: TrainingBackend;
  readonly spec: ModelSpec;
  readonly tolerance: number;
  readonly open: () => Promise<Model>;
  /** Opens a model and trains it, so that its weights differ from the initial ones. */
  readonly openTrained: (steps?: number) => Promise<Model>;
}

/** The largest difference between the log-probabilities of equal requests. */
export function repeatTolerance({ backend, tolerance }: Pick<ModelSubject, "backend" | "tolerance">): number {
  return backend.capabilities.deterministic ? 0 : tolerance;
}

/** The requirements of a model by their names. */
export type ModelRules = Readonly<Record<string, (subject: ModelSubject) => Promise<void>>>;

/** The settings of the optimizer in most cases. */
export const adam: AdamParams = {
  learningRate: 0.01,
  beta1: 0.9,
  beta2: 0.95,
  epsilon: 1e-8,
  weightDecay: 0.01,
  clipNorm: 1,
};

/** Four sequences of different lengths over the ids 33 to 126, with all per-token fields. */
export function exampleData(seed: number): Datum[] {
  const random = createRandom(seed);
  return [9, 4, 12, 6].map((length) => {
    const ids = Array.from({ length }, () => random.integer(33, 126));
    const prompt = random.integer(1, 3);
    const mask = ids.map((_, i) => (i < prompt ? 0 : 1));
    const logprobs = ids.map((_, i) => (mask[i] === 0 ? 0 : -4 - 2 * random.next()));
    const datum = datumFromIds({ ids, mask, logprobs });
    return {
      ...datum,
      advantages: datum.lossMask.map((weight) => weight * random.normal()),
      referenceLogprobs: datum.lossMask.map((weight) => weight * (-4 - 2 * random.next())),
      returns: datum.lossMask.map((weight) => weight * random.normal()),
      oldValues: datum.lossMask.map((weight) => weight * 0.2 * random.normal()),
    };
  });
}

/** Fails if two arrays differ by more than `tolerance` at any index. */
export function assertClose(actual: Float32Array, expected: Float32Array, tolerance: number): void {
  assert.equal(actual.length, expected.length);
  for (const [t, value] of actual.entries()) {
    const difference = Math.abs(value - expected[t]!);
    assert.ok(difference <= tolerance, `${value} differs from ${expected[t]} by ${difference} at index ${t}`);
  }
}

/** Fails unless `smaller` is less than `larger`. */
export function assertBelow(smaller: number, larger: number): void {
  assert.ok(smaller < larger, `${smaller} is not less than ${larger}`);
}

/** |actual - expected| / |expected|. */
export function relative(actual: number, expected: number): number {
  return Math.abs(actual - expected) / Math.abs(expected);
}

/** Takes one optimizer step of cross-entropy. */
export async function trainStep(model: Model, data: readonly Datum[], params: AdamParams = adam): Promise<void> {
  await model.forwardBackward(data, [{ type: "crossEntropy" }]);
  await model.optimStep(params, { stepId: model.version + 1 });
}

/** Returns a request with `length` random prompt ids. */
export function request(model: Model, options: { seed: number; temperature: number; length: number }): SampleRequest {
  const random = createRandom(options.seed);
  return {
    promptIds: Array.from({ length: options.length }, () => random.integer(33, 126)),
    settings: { temperature: options.temperature, maxTokens: 12 },
    seed: options.seed,
    stopTokenIds: model.renderer.stopTokenIds,
  };
}

/** Returns the samples in the order of their requests. */
export async function sampleAll(
  sampler: Sampler,
  requests: readonly SampleRequest[],
  signal?: AbortSignal,
): Promise<Sample[]> {
  const samples = await Array.fromAsync(sampler.sample(requests, { signal }));
  return samples.toSorted((a, b) => a.request - b.request);
}

/** Fails if two models give log-probabilities that differ by more than `tolerance`. */
export async function assertSameLogprobs(a: Model, b: Model, data: readonly Datum[], tolerance: number): Promise<void> {
  const first = await a.forward(data, { outputs: ["logprobs"] });
  const second = await b.forward(data, { outputs: ["logprobs"] });
  for (const [i, result] of first.entries()) assertClose(result.logprobs!, second[i]!.logprobs!, tolerance);
}

/** Returns true for the error of an aborted signal. */
export function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === "AbortError" || (error as { code?: unknown }).code === "aborted");
}
