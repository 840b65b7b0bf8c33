import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Sample, Sampler } from "../../src/contract/sampler.ts";
import { createRandom } from "../../src/core/random/random.ts";
import { type Datum, datumFromIds } from "../../trainers/backend/datum.ts";
import type { LossTerm } from "../../trainers/backend/loss-term.ts";
import type {
  AdamParams,
  Model,
  ModelSpec,
  PassProgress,
  TrainingBackend,
} from "../../trainers/backend/training-backend.ts";
import { adam, exampleData, expectClose, relative } from "./conformance-data.ts";
import { tokenLossOf } from "./reference-losses/token-loss-of.ts";
import { valueHeadConformance } from "./value-head-conformance.ts";

/** What the suite needs to know about a backend. */
export interface BackendUnderTest {
  readonly name: string;
  readonly createBackend: () => TrainingBackend | Promise<TrainingBackend>;
  /** Small trainable models, one for each kind that the backend supports (full, LoRA, ...). */
  readonly specs: Readonly<Record<string, ModelSpec>>;
  /** The tolerance between two computations of the same log-probability: 1e-4 for float32 engines. */
  readonly tolerance: number;
}

/** Tests the contract of `TrainingBackend` and `Model` for any backend. Call it at the top level of a test file. */
export function describeBackend(options: BackendUnderTest): void {
  for (const [kind, spec] of Object.entries(options.specs)) {
    describe(`${options.name}, ${kind}: fulfils the contract of TrainingBackend`, () => {
      modelPromises(options, spec);
      describe("with a value head", () => valueHeadConformance(options, { ...spec, valueHead: true }));
    });
  }
}

function modelPromises(options: BackendUnderTest, spec: ModelSpec): void {
  const { tolerance } = options;
  let backend: TrainingBackend;
  let folder: string;
  const open = (): Promise<Model> => backend.openModel(spec);
  /** Opens a model and trains it, so that its weights differ from the initial ones. */
  const openTrained = async (steps = 3): Promise<Model> => {
    const model = await open();
    for (let i = 0; i < steps; i++) await trainStep(model, exampleData(i));
    return model;
  };

  beforeAll(async () => {
    backend = await options.createBackend();
    folder = await mkdtemp(join(tmpdir(), "lyceum-conformance-"));
  });
  afterAll(async () => {
    await backend.close();
    await rm(folder, { recursive: true, force: true });
  });

  it("reports its capabilities", () => {
    expect(backend.specificationVersion).toBe("v1");
    expect(backend.capabilities.name).not.toBe("");
    expect(backend.capabilities.losses).toContain("crossEntropy");
  });

  it("forward returns the same log-probabilities as the sampler", async () => {
    const model = await openTrained();
    const { trainableSampling } = backend.capabilities;
    const settings = [{ temperature: 0.7 }, { topK: 5 }, { topP: 0.6 }, { minP: 0.3 }].filter((setting) =>
      trainableSampling.some((name) => name in setting),
    );
    for (const setting of [{}, ...settings, Object.assign({}, ...settings)]) {
      const requests = [1, 2, 3, 4].map((seed) => {
        const asked = request(model, { seed, temperature: 1, length: 2 + 3 * seed });
        return { ...asked, settings: { ...asked.settings, supports: true, ...setting } };
      });
      const samples = await sampleAll(await model.snapshot(), requests);
      const data = samples.map(({ ids, logprobs, supports, request: index }) => {
        const { promptIds, settings: asked } = requests[index]!;
        return datumFromIds({
          ids: [...promptIds, ...ids],
          mask: [...promptIds.map(() => 0), ...ids.map(() => 1)],
          logprobs: [...promptIds.map(() => 0), ...logprobs],
          ...(supports === undefined ? {} : { supports: [...promptIds.map(() => null), ...supports] }),
          temperature: asked.temperature,
        });
      });
      const results = await model.forward(data, { outputs: ["logprobs"] });
      for (const [i, datum] of data.entries()) expectClose(results[i]!.logprobs!, datum.behaviourLogprobs!, tolerance);
    }
  });

  it("samples the same completions for the same requests, within their limits", async () => {
    const sampler = await (await openTrained()).snapshot();
    const model = await open();
    const requests = [5, 6, 7].map((seed) => request(model, { seed, temperature: 1, length: 4 }));
    const samples = await sampleAll(sampler, requests);
    expect(await sampleAll(sampler, requests)).toEqual(samples);
    expect(samples.map((sample) => sample.request)).toEqual([0, 1, 2]);
    for (const { ids, logprobs, finish } of samples) {
      expect(logprobs).toHaveLength(ids.length);
      expect(ids.length).toBeLessThanOrEqual(12);
      expect(finish === "stop").toBe(model.renderer.stopTokenIds.includes(ids.at(-1)!));
      if (finish === "length") expect(ids).toHaveLength(12);
      for (const logprob of logprobs) expect(logprob).toBeLessThanOrEqual(tolerance);
      for (const id of ids.slice(0, -1)) expect(model.renderer.stopTokenIds).not.toContain(id);
    }
  });

  it("computes the reference formula of every loss term that it supports", async () => {
    const model = await openTrained();
    const data = exampleData(9);
    const current = await model.forward(data, { outputs: ["logprobs"] });
    for (const term of tokenTerms) {
      if (!backend.capabilities.losses.includes(term.type)) continue;
      let expected = 0;
      for (const [i, datum] of data.entries()) {
        for (const [t, mask] of datum.lossMask.entries()) {
          if (mask === 0) continue;
          expected += tokenLossOf(term, {
            logprob: current[i]!.logprobs![t]!,
            behaviourLogprob: datum.behaviourLogprobs![t]!,
            referenceLogprob: datum.referenceLogprobs![t]!,
            advantage: datum.advantages![t]!,
            mask,
          }).value;
        }
      }
      const result = await model.forwardBackward(data, [term]);
      expect(Math.abs(result.loss - expected) / Math.max(1, Math.abs(expected)), JSON.stringify(term)).toBeLessThan(
        20 * tolerance,
      );
      expect(result.terms).toHaveLength(1);
      expect(result.tokens).toBe(data.reduce((sum, { lossMask }) => sum + lossMask.filter((w) => w !== 0).length, 0));
      for (const [i, logprobs] of result.logprobs.entries()) {
        expectClose(logprobs, current[i]!.logprobs!, tolerance);
      }
    }
  });

  it("sums several terms with their weights", async () => {
    const model = await openTrained();
    const data = exampleData(3);
    const terms: LossTerm[] = [
      { type: "policyGradient", weight: 2 },
      { type: "kl", estimator: "k3", weight: 0.5 },
    ];
    const both = await model.forwardBackward(data, terms);
    expect(both.loss).toBeCloseTo(both.terms[0]! + both.terms[1]!, 3);
    const alone = await model.forwardBackward(data, [{ type: "policyGradient" }]);
    expect(both.terms[0]).toBeCloseTo(2 * alone.loss, 3);
  });

  it("accumulates the gradients of several calls before a step", async () => {
    const data = exampleData(1);
    const together = await open();
    const apart = await open();
    await together.forwardBackward(data, [{ type: "crossEntropy" }]);
    for (const datum of data) await apart.forwardBackward([datum], [{ type: "crossEntropy" }]);
    const first = await together.optimStep(adam, { stepId: 1 });
    const second = await apart.optimStep(adam, { stepId: 1 });
    expect(relative(first.gradientNorm, second.gradientNorm)).toBeLessThan(100 * tolerance);
    const probe = exampleData(2);
    await expectSameLogprobs(together, apart, probe, 100 * tolerance);
  });

  it.each([
    [12, 3],
    [1, 4],
  ])("splits data into micro-batches of at most %i tokens, with the same results", async (maxTokens, atLeast) => {
    const data = exampleData(1);
    const whole = await openTrained();
    const split = await openTrained();
    const passes: PassProgress[][] = [];
    const options = () => {
      const done: PassProgress[] = [];
      passes.push(done);
      return { maxTokensPerMicroBatch: maxTokens, onProgress: (part: PassProgress) => void done.push(part) };
    };
    const logprobs = await whole.forward(data, { outputs: ["logprobs"] });
    for (const [i, result] of (await split.forward(data, { outputs: ["logprobs"], ...options() })).entries()) {
      expectClose(result.logprobs!, logprobs[i]!.logprobs!, tolerance);
    }
    const first = await whole.forwardBackward(data, [{ type: "policyGradient" }]);
    const second = await split.forwardBackward(data, [{ type: "policyGradient" }], options());
    expect(second.tokens).toBe(first.tokens);
    expect(second.loss).toBeCloseTo(first.loss, 3);
    for (const [i, values] of second.logprobs.entries()) expectClose(values, first.logprobs[i]!, tolerance);
    const norms: number[] = [];
    for (const model of [whole, split]) norms.push((await model.optimStep(adam, { stepId: 4 })).gradientNorm);
    expect(relative(norms[1]!, norms[0]!)).toBeLessThan(100 * tolerance);
    for (const done of passes) {
      expect(done.length).toBeGreaterThanOrEqual(atLeast);
      expect(done.reduce((sum, { sequences }) => sum + sequences, 0)).toBe(data.length);
      expect(done.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(first.tokens);
    }
  });

  it("stops between two micro-batches if the signal aborts, and adds no gradient", async () => {
    const data = Array.from({ length: 500 }, (_, seed) => exampleData(seed)).flat();
    const model = await openTrained();
    const controller = new AbortController();
    const { signal } = controller;
    const options = { signal, maxTokensPerMicroBatch: 1, onProgress: () => controller.abort() };
    await expect(model.forwardBackward(data, [{ type: "crossEntropy" }], options)).rejects.toSatisfy(isAbort);
    const untouched = await openTrained();
    await trainStep(model, exampleData(22));
    await trainStep(untouched, exampleData(22));
    await expectSameLogprobs(model, untouched, exampleData(23), 0);
  });

  it("clears the gradient with the step, and the step lowers the loss", async () => {
    const model = await open();
    const data = exampleData(4);
    const before = await model.forwardBackward(data, [{ type: "crossEntropy" }]);
    const first = await model.optimStep({ ...adam, weightDecay: 0 }, { stepId: 1 });
    expect(first.gradientNorm).toBeGreaterThan(0);
    const after = await model.forwardBackward(data, [{ type: "crossEntropy" }]);
    expect(after.loss).toBeLessThan(before.loss);
    await model.optimStep(adam, { stepId: 2 });
    const empty = await model.optimStep(adam, { stepId: 3 });
    expect(empty.gradientNorm).toBe(0);
  });

  it("reports the norm of the gradient before clipping", async () => {
    const data = exampleData(4);
    const norms: number[] = [];
    for (const weight of [1, 10]) {
      const model = await open();
      await model.forwardBackward(data, [{ type: "crossEntropy", weight }]);
      norms.push((await model.optimStep({ ...adam, clipNorm: 0.5 }, { stepId: 1 })).gradientNorm);
    }
    expect(relative(norms[1]!, 10 * norms[0]!)).toBeLessThan(100 * tolerance);
    expect(norms[0]).toBeGreaterThan(0.5);
  });

  it("applies a step once per stepId, and increments its version", async () => {
    const once = await open();
    const twice = await open();
    expect(once.version).toBe(0);
    for (const model of [once, twice]) {
      await model.forwardBackward(exampleData(5), [{ type: "crossEntropy" }]);
      const step = await model.optimStep(adam, { stepId: 1 });
      expect(step.version).toBe(1);
      expect(model.version).toBe(1);
    }
    expect((await twice.optimStep(adam, { stepId: 1 })).version).toBe(1);
    expect(twice.version).toBe(1);
    await expectSameLogprobs(once, twice, exampleData(6), 0);
  });

  it("samples from a snapshot that later training does not change", async () => {
    const model = await openTrained();
    const sampler = await model.snapshot();
    expect(sampler.version).toBe(model.version);
    const promptIds = [...exampleData(20)[0]!.tokens.slice(0, 5)];
    const requests = [8, 9].map((seed) => ({ ...request(model, { seed, temperature: 1, length: 0 }), promptIds }));
    const before = await sampleAll(sampler, requests);
    for (let i = 0; i < 3; i++) await trainStep(model, exampleData(20 + i), { ...adam, learningRate: 0.3 });
    expect(await sampleAll(sampler, requests)).toEqual(before);
    const later = await model.snapshot();
    expect(later.version).toBe(sampler.version + 3);
    const logprobs = (samples: Sample[]): number[] => samples.flatMap((sample) => [...sample.logprobs]);
    expect(logprobs(await sampleAll(later, requests))).not.toEqual(logprobs(before));
  });

  it("saves and loads exactly, including optimizer state and version", async () => {
    const saved = await openTrained();
    const path = join(folder, "saved");
    await saved.save(path);
    const loaded = await open();
    await loaded.load(path);
    expect(loaded.version).toBe(saved.version);
    await expectSameLogprobs(saved, loaded, exampleData(11), 0);
    for (let i = 0; i < 2; i++) {
      await trainStep(saved, exampleData(30 + i));
      await trainStep(loaded, exampleData(30 + i));
    }
    expect(loaded.version).toBe(saved.version);
    await expectSameLogprobs(saved, loaded, exampleData(11), 0);
  });

  it("replaces its state on load, including the gradient", async () => {
    const saved = await openTrained();
    const path = join(folder, "over");
    await saved.save(path);
    const other = await openTrained(1);
    await other.forwardBackward(exampleData(40), [{ type: "crossEntropy" }]);
    await other.load(path);
    await trainStep(saved, exampleData(41));
    await trainStep(other, exampleData(41));
    await expectSameLogprobs(saved, other, exampleData(42), 0);
  });

  it("is exactly repeatable if it is deterministic", async () => {
    if (!backend.capabilities.deterministic) return;
    await expectSameLogprobs(await openTrained(), await openTrained(), exampleData(12), 0);
  });

  it("opens models that share no trained weights", async () => {
    const trained = await openTrained();
    const fresh = await open();
    const probe = exampleData(13);
    const before = await fresh.forward(probe, { outputs: ["logprobs"] });
    await trainStep(trained, exampleData(14));
    const after = await fresh.forward(probe, { outputs: ["logprobs"] });
    for (const [i, result] of before.entries()) expectClose(result.logprobs!, after[i]!.logprobs!, 0);
  });

  it("opens a frozen reference that equals the untrained model and refuses training", async () => {
    const model = await open();
    const reference = await backend.openModel({ source: spec.source, trainable: { type: "frozen" } });
    await expectSameLogprobs(model, reference, exampleData(15), tolerance);
    expect(reference.parameterCount).toBe(0);
    await expect(reference.forwardBackward(exampleData(15), [{ type: "crossEntropy" }])).rejects.toMatchObject({
      code: "backend.unsupported",
    });
  });

  it("returns the same log-probabilities in any batch", async () => {
    const model = await openTrained();
    const data = exampleData(16);
    const together = await model.forward(data, { outputs: ["logprobs"] });
    for (const [i, datum] of data.entries()) {
      const [alone] = await model.forward([datum], { outputs: ["logprobs"] });
      expectClose(alone!.logprobs!, together[i]!.logprobs!, tolerance);
    }
  });

  it("returns 0 where the loss mask is 0, and the entropy on request", async () => {
    const model = await openTrained();
    const data = exampleData(17);
    const results = await model.forward(data, { outputs: ["logprobs", "entropy"] });
    for (const [i, { lossMask }] of data.entries()) {
      const { logprobs, entropy } = results[i]!;
      expect(logprobs).toHaveLength(lossMask.length);
      for (const [t, weight] of lossMask.entries()) {
        if (weight === 0) expect(logprobs![t]).toBe(0);
        else expect(logprobs![t]).toBeLessThan(0);
        if (weight === 0) expect(entropy![t]).toBe(0);
        else expect(entropy![t]).toBeGreaterThan(0);
      }
    }
  });

  it("learns from demonstrations", async () => {
    const model = await open();
    const data = exampleData(18).slice(0, 2);
    const terms: LossTerm[] = [{ type: "crossEntropy" }];
    let first = 0;
    let last = 0;
    for (let i = 0; i < 30; i++) {
      const { loss } = await model.forwardBackward(data, terms);
      if (i === 0) first = loss;
      last = loss;
      await model.optimStep({ ...adam, learningRate: 0.05 }, { stepId: i + 1 });
    }
    expect(last).toBeLessThan(0.7 * first);
  });

  it("keeps its weights if a gradient is not finite", async () => {
    const model = await openTrained();
    const probe = exampleData(19);
    const before = await model.forward(probe, { outputs: ["logprobs"] });
    const version = model.version;
    const poisoned = probe.map((datum) => ({ ...datum, advantages: datum.advantages!.map(() => Number.NaN) }));
    const attempt = async (): Promise<void> => {
      await model.forwardBackward(poisoned, [{ type: "policyGradient" }]);
      await model.optimStep(adam, { stepId: version + 1 });
    };
    await expect(attempt()).rejects.toMatchObject({ code: "backend.not-finite" });
    const after = await model.forward(probe, { outputs: ["logprobs"] });
    for (const [i, result] of before.entries()) expectClose(result.logprobs!, after[i]!.logprobs!, 0);
    expect(model.version).toBe(version);
  });

  it("stops at an aborted signal, and works afterwards", async () => {
    const model = await openTrained();
    const signal = AbortSignal.abort();
    const data = exampleData(21);
    await expect(model.forward(data, { outputs: ["logprobs"], signal })).rejects.toSatisfy(isAbort);
    await expect(model.forwardBackward(data, [{ type: "crossEntropy" }], { signal })).rejects.toSatisfy(isAbort);
    const sampler = await model.snapshot();
    const requests = [request(model, { seed: 1, temperature: 1, length: 3 })];
    await expect(sampleAll(sampler, requests, signal)).rejects.toSatisfy(isAbort);
    const untouched = await openTrained();
    await trainStep(model, exampleData(22));
    await trainStep(untouched, exampleData(22));
    await expectSameLogprobs(model, untouched, exampleData(23), 0);
  });

  it("refuses invalid data", async () => {
    const model = await open();
    const [datum] = exampleData(24);
    const outOfRange = Int32Array.from(datum!.tokens, () => model.tokenizer.vocabularySize);
    const tooLong = datumFromIds({
      ids: Array.from({ length: model.maxLength + 2 }, () => 1),
      mask: Array.from({ length: model.maxLength + 2 }, () => 1),
    });
    const bad: Datum[] = [
      { ...datum!, targets: datum!.targets.slice(1) },
      { ...datum!, lossMask: new Float32Array(0) },
      { ...datum!, advantages: new Float32Array(1) },
      { ...datum!, tokens: outOfRange },
      tooLong,
    ];
    for (const wrong of bad) {
      await expect(model.forwardBackward([wrong], [{ type: "policyGradient" }])).rejects.toMatchObject({
        code: expect.stringMatching(/^(backend|policy)\.unsupported/),
      });
    }
  });

  it("accepts empty data and does nothing", async () => {
    const model = await open();
    expect(await model.forward([], { outputs: ["logprobs"] })).toEqual([]);
    const result = await model.forwardBackward([], [{ type: "crossEntropy" }]);
    expect(result).toMatchObject({ loss: 0, tokens: 0, logprobs: [] });
    expect(await sampleAll(await model.snapshot(), [])).toEqual([]);
  });

  it("closes twice without harm", async () => {
    const other = await options.createBackend();
    const model = await other.openModel(spec);
    await model.close();
    await model.close();
    await other.close();
    await other.close();
  });
}

const tokenTerms = [
  { type: "crossEntropy" },
  { type: "crossEntropy", weight: 0.25 },
  { type: "policyGradient" },
  { type: "importanceSampling" },
  { type: "ppo", clipLow: 0.2, clipHigh: 0.28 },
  { type: "cispo", clipLow: 0.3, clipHigh: 0.28 },
  { type: "kl", estimator: "k1" },
  { type: "kl", estimator: "k2" },
  { type: "kl", estimator: "k3" },
] as const satisfies readonly LossTerm[];

async function trainStep(model: Model, data: readonly Datum[], params: AdamParams = adam): Promise<void> {
  await model.forwardBackward(data, [{ type: "crossEntropy" }]);
  await model.optimStep(params, { stepId: model.version + 1 });
}

function request(model: Model, options: { seed: number; temperature: number; length: number }) {
  const random = createRandom(options.seed);
  return {
    promptIds: Array.from({ length: options.length }, () => random.integer(33, 126)),
    settings: { temperature: options.temperature, maxTokens: 12 },
    seed: options.seed,
    stopTokenIds: model.renderer.stopTokenIds,
  };
}

async function sampleAll(
  sampler: Sampler,
  requests: Parameters<Sampler["sample"]>[0],
  signal?: AbortSignal,
): Promise<Sample[]> {
  const samples: Sample[] = [];
  for await (const sample of sampler.sample(requests, signal === undefined ? {} : { signal })) samples.push(sample);
  return samples.sort((a, b) => a.request - b.request);
}

async function expectSameLogprobs(a: Model, b: Model, data: readonly Datum[], tolerance: number): Promise<void> {
  const first = await a.forward(data, { outputs: ["logprobs"] });
  const second = await b.forward(data, { outputs: ["logprobs"] });
  for (const [i, result] of first.entries()) expectClose(result.logprobs!, second[i]!.logprobs!, tolerance);
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === "AbortError" || (error as { code?: unknown }).code === "aborted");
}
