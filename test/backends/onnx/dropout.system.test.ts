import { readFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Sample } from "../../../src/contract/sampler.ts";
import { createRandom } from "../../../src/core/random/random.ts";
import { type Datum, datumFromIds } from "../../../trainers/backend/datum.ts";
import type { LossTerm } from "../../../trainers/backend/loss-term.ts";
import type { LoraSpec, Model, TrainingBackend } from "../../../trainers/backend/training-backend.ts";
import { dropoutFeeds, dropoutSeeds } from "../../../trainers/backends/onnx/engine/dropout-masks.ts";
import { readGradients } from "../../../trainers/backends/onnx/inspect.ts";
import { ParameterBlock } from "../../../trainers/backends/onnx/models/parameter-block.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { decoderConfigs } from "./decoder-configs.ts";
import { ModelUnderTest, randomData } from "./model-under-test.ts";
import { sharedEngine } from "./shared-engine.ts";
import { tinyConfig } from "./tiny-config.ts";

const crossEntropy: readonly LossTerm[] = [{ type: "crossEntropy" }];
const source = { type: "scratch", config: tinyConfig, seed: 3 } as const;
const vocabulary = tinyConfig.vocab_size;
const adam = { learningRate: 0.05, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0 };

async function createBackend(maxTokensPerMicroBatch = 1000): Promise<TrainingBackend> {
  const backend = await sharedEngine({ device: "cpu", threads: 1, maxTokensPerMicroBatch });
  onTestFinished(() => backend.close());
  return backend;
}

function openModel(backend: TrainingBackend, lora: Partial<LoraSpec> = {}, valueHead = false): Promise<Model> {
  const trainable = { type: "lora", lora: { rank: 3, alpha: 6, seed: 1, dropout: 0.4, ...lora } } as const;
  return backend.openModel({ source, trainable, valueHead });
}

function batch(seed: number, lengths: readonly number[] = [9, 4, 12]): Datum[] {
  return randomData(lengths, { vocabulary, seed }).map((datum) => {
    const logprobs = datum.lossMask.map(() => -4);
    const behind = { behaviourLogprobs: logprobs, referenceLogprobs: logprobs };
    return { ...datum, ...behind, returns: datum.lossMask, oldValues: datum.lossMask };
  });
}

/** Runs steps of supervised training on the batches of the given seeds. */
async function learn(model: Model, seeds: readonly number[]): Promise<void> {
  for (const seed of seeds) {
    await model.forwardBackward(batch(seed), crossEntropy);
    await model.optimStep(adam, { stepId: model.version + 1 });
  }
}

async function newFolder(): Promise<string> {
  const folder = temporaryFolder();
  return join(folder, "state");
}

async function stateOf(model: Model): Promise<string> {
  const folder = await newFolder();
  await model.save(folder);
  return (await readFile(join(folder, "state.safetensors"))).toString("base64");
}

async function gradientOf(model: Model, parts: readonly (readonly Datum[])[]): Promise<number[]> {
  for (const part of parts) await model.forwardBackward(part, crossEntropy);
  return [...(await readGradients(model)).values()].flatMap(({ data }) => [...data]);
}

function worstDifference(a: readonly number[], b: readonly number[]): number {
  return a.reduce((worst, value, i) => Math.max(worst, Math.abs(value - b[i]!)), 0);
}

describe("masks of adapters", () => {
  const block = new ParameterBlock([
    { name: "first.lora_A.weight", shape: [2, 70], initial: "normal" },
    { name: "first.lora_B.weight", shape: [9, 2], initial: "zeros" },
    { name: "second.lora_A.weight", shape: [2, 70], initial: "normal" },
  ]);
  /** 1 for each kept input of each token, by adapter. */
  const bitsOf = (rate: number, seeds: readonly number[], tokens = 200): Record<string, number[]> => {
    const feeds = dropoutFeeds({ block, rate, sequences: seeds.map((seed) => ({ tokens, seed })) });
    return Object.fromEntries(
      Object.entries(feeds).map(([name, { data, shape }]) => {
        const [rows, width] = shape as [number, number];
        const bit = (row: number, i: number): number => (Number(data[row * width + (i >> 5)]!) >>> (i & 31)) & 1;
        return [name, Array.from({ length: rows * 70 }, (_, k) => bit(Math.floor(k / 70), k % 70))];
      }),
    );
  };
  const meanOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

  it.each([0, 0.05, 0.5, 0.9])("drop the rate %d of the inputs", (rate) => {
    const seeds = [1, 2, 3];
    const bits = bitsOf(rate, seeds);
    expect(Object.keys(bits)).toEqual(["first.lora_dropout", "second.lora_dropout"]);
    for (const kept of Object.values(bits)) {
      expect(kept).toHaveLength(seeds.length * 200 * 70);
      // Five standard errors.
      const error = Math.sqrt((rate * (1 - rate)) / kept.length);
      expect(Math.abs(meanOf(kept) - (1 - rate))).toBeLessThanOrEqual(5 * error);
    }
  });

  it("are independent between sequences, adapters, tokens and inputs, and reproducible for a seed", () => {
    const { "first.lora_dropout": first, "second.lora_dropout": second } = bitsOf(0.5, [1, 2, 1]);
    const length = 200 * 70;
    const agreement = (a: readonly number[], b: readonly number[]): number =>
      meanOf(a.map((value, i) => Number(value === b[i])));
    const one = first!.slice(0, length);
    expect(first!.slice(2 * length)).toEqual(one);
    const others = {
      sequence: first!.slice(length, 2 * length),
      adapter: second!.slice(0, length),
      token: [...one.slice(70), ...one.slice(0, 70)],
      input: [...one.slice(1), one[0]!],
    };
    for (const [what, other] of Object.entries(others)) {
      expect(Math.abs(agreement(one, other) - 0.5), what).toBeLessThan(5 * Math.sqrt(0.25 / length));
    }
  });

  it("have different seeds for each step and each occurrence of a sequence", () => {
    const data = [datumFromIds({ ids: [1, 2, 3], mask: [0, 1, 1] }), datumFromIds({ ids: [1, 2, 3], mask: [0, 1, 1] })];
    const seen = new Map<string, number>();
    const seeds = [
      ...dropoutSeeds(data, { seed: 1, step: 0, seen }),
      ...dropoutSeeds(data, { seed: 1, step: 0, seen }),
      ...dropoutSeeds(data, { seed: 1, step: 1, seen: new Map() }),
      ...dropoutSeeds(data, { seed: 2, step: 0, seen: new Map() }),
    ];
    expect(new Set(seeds).size).toBe(8);
    expect(dropoutSeeds(data, { seed: 1, step: 0, seen: new Map() })).toEqual(seeds.slice(0, 2));
  });
});

describe("a pass with dropout", () => {
  it.each([
    "llama, tied, grouped queries",
    "qwen2, one key head",
  ])("has the gradient of its own loss under fixed masks: %s", async (name) => {
    await using model = new ModelUnderTest(decoderConfigs[name]!, {
      rank: 3,
      alpha: 6,
      ...(name.startsWith("qwen2") ? { targets: ["v_proj", "down_proj"] } : {}),
    });
    const data = randomData([7, 3, 9], { vocabulary: 29, seed: 5 });
    const dropout = { rate: 0.4, seeds: [11, 12, 13] };
    const evaluate = async (): Promise<number> => (await model.pass(data, crossEntropy, { dropout })).terms[0]!;
    const { gradient, terms } = await model.pass(data, crossEntropy, { dropout });
    expect(Math.abs(terms[0]! - (await model.pass(data, crossEntropy)).terms[0]!)).toBeGreaterThan(0.01);
    const random = createRandom(4);
    for (const { name: parameter } of model.trained.specs) {
      if (!parameter.includes("lora_")) continue;
      const values = model.trained.view(parameter);
      const kept = values.slice();
      const direction = Array.from(values, () => random.normal() / Math.sqrt(values.length));
      const at = async (distance: number): Promise<number> => {
        for (const [i, component] of direction.entries()) values[i] = kept[i]! + distance * component;
        const loss = await evaluate();
        values.set(kept);
        return loss;
      };
      const step = 0.01;
      const near = (await at(step)) - (await at(-step));
      const far = (await at(2 * step)) - (await at(-2 * step));
      const numeric = (8 * near - far) / (12 * step);
      const analytic = gradient.view(parameter).reduce((sum, value, i) => sum + value * direction[i]!, 0);
      expect(Math.abs(analytic - numeric), `${parameter}: ${analytic}, ${numeric}`).toBeLessThan(5e-3);
    }
  });

  it("has the same gradient however its data are split and ordered", async () => {
    const data = [...batch(1), ...batch(2), ...batch(1)];
    const lengths = fc.record({ maxTokens: fc.integer({ min: 1, max: 80 }), first: fc.integer({ min: 1, max: 8 }) });
    const expected = await gradientOf(await openModel(await createBackend()), [data]);
    await fc.assert(
      fc.asyncProperty(lengths, fc.nat(), async ({ maxTokens, first }, seed) => {
        await using backend = await sharedEngine({ device: "cpu", threads: 1, maxTokensPerMicroBatch: maxTokens });
        const order = createRandom(seed).shuffle(data);
        const found = await gradientOf(await openModel(backend), [order.slice(0, first), order.slice(first)]);
        expect(worstDifference(found, expected)).toBeLessThan(1e-4);
      }),
      { numRuns: 8 },
    );
  });

  it("has other masks in the next step, and the same masks after an aborted call", async () => {
    const model = await openModel(await createBackend());
    const data = batch(1);
    const aborted = AbortSignal.abort();
    await expect(model.forwardBackward(data, crossEntropy, { signal: aborted })).rejects.toThrow();
    const first = await gradientOf(model, [data]);
    await model.optimStep({ ...adam, learningRate: 0 }, { stepId: 1 });
    const second = await gradientOf(model, [data]);
    expect(worstDifference(first, second)).toBeGreaterThan(0.01);
    const other = await openModel(await createBackend());
    expect(await gradientOf(other, [data])).toEqual(first);
  });
});

describe("log-probabilities for comparison", () => {
  const terms: Readonly<Record<string, readonly LossTerm[]>> = {
    policyGradient: [{ type: "policyGradient" }],
    importanceSampling: [{ type: "importanceSampling" }],
    ppo: [{ type: "ppo", clipLow: 0.2, clipHigh: 0.2 }],
    cispo: [{ type: "cispo", clipLow: 0.2, clipHigh: 0.2 }],
    "crossEntropy with kl": [{ type: "crossEntropy" }, { type: "kl", estimator: "k3" }],
    "crossEntropy with entropy": [{ type: "crossEntropy" }, { type: "entropy" }],
    "crossEntropy with value": [{ type: "crossEntropy" }, { type: "value" }],
  };

  it.each(Object.entries(terms))("are without dropout: %s", async (_, list) => {
    const model = await openModel(await createBackend(), {}, true);
    await learn(model, [1, 2, 3]);
    const data = batch(7);
    const forward = await model.forward(data, { outputs: ["logprobs", "values"] });
    const passed = await model.forwardBackward(data, list);
    const gap = (logprobs: readonly Float32Array[]): number =>
      worstDifference(
        logprobs.flatMap((values) => [...values]),
        forward.flatMap(({ logprobs: own }) => [...own!]),
      );
    expect(gap(passed.logprobs)).toBeLessThan(1e-5);
    for (const [i, values] of passed.values?.entries() ?? []) {
      expect(worstDifference([...values], [...forward[i]!.values!])).toBeLessThan(1e-5);
    }
    expect(gap((await model.forwardBackward(data, crossEntropy)).logprobs)).toBeGreaterThan(0.05);
  });

  it("are those of the sampler", async () => {
    const model = await openModel(await createBackend());
    await learn(model, [1, 2, 3]);
    const sampler = await model.snapshot();
    const request = { promptIds: [1, 2, 3], settings: { temperature: 1, maxTokens: 12 }, seed: 1, stopTokenIds: [] };
    const samples: Sample[] = [];
    for await (const sample of sampler.sample([request])) samples.push(sample);
    const { ids, logprobs } = samples[0]!;
    const datum = datumFromIds({ ids: [1, 2, 3, ...ids], mask: [0, 0, 0, ...ids.map(() => 1)] });
    const [result] = await model.forward([datum], { outputs: ["logprobs"] });
    expect(worstDifference([...result!.logprobs!.slice(2)], [...logprobs])).toBeLessThan(1e-4);
  });
});

describe("a run with dropout", () => {
  it("is reproducible, also after resuming, and differs at another rate or without dropout", async () => {
    const backend = await createBackend();
    const whole = await openModel(backend);
    await learn(whole, [1, 2, 3, 4]);
    const expected = await stateOf(whole);

    const begun = await openModel(backend);
    await learn(begun, [1, 2]);
    const folder = await newFolder();
    await begun.save(folder);
    const resumed = await openModel(backend);
    // Loading drops an accumulated gradient and its masks.
    await resumed.forwardBackward(batch(3), crossEntropy);
    await resumed.load(folder);
    await learn(resumed, [3, 4]);
    expect(await stateOf(resumed)).toBe(expected);

    for (const other of [{ dropout: 0.3 }, { dropout: 0 }]) {
      const model = await openModel(backend, other);
      await learn(model, [1, 2, 3, 4]);
      expect(await stateOf(model)).not.toBe(expected);
    }
  });

  it("writes the rate into the adapter that it exports", async () => {
    const backend = await createBackend();
    for (const [lora, expected] of [
      [{ dropout: 0.25 }, 0.25],
      [{ dropout: 0 }, 0],
    ] as const) {
      const folder = await newFolder();
      await (await openModel(backend, lora)).export(folder, "peft");
      const config: unknown = JSON.parse(await readFile(join(folder, "adapter_config.json"), "utf8"));
      expect(config).toMatchObject({ lora_dropout: expected });
    }
  });

  it.each([1, -0.1, 1.5, Number.NaN])("is refused at a rate of %d", async (dropout) => {
    const backend = await createBackend();
    await expect(openModel(backend, { dropout })).rejects.toMatchObject({
      code: "config.invalid",
      message: expect.stringContaining("dropout"),
    });
  });
});
