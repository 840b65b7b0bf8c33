import { readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { mean } from "../../../src/core/statistics.ts";
import { type Datum, datumFromIds } from "../../../trainers/backend/datum.ts";
import type { LoraSpec, Model, ModelSpec, TrainableSpec } from "../../../trainers/backend/training-backend.ts";
import { createOnnxBackend } from "../../../trainers/backends/onnx/index.ts";
import { modelChecksumsFile } from "../../../trainers/model-folders/weights/model-checksums.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { sampleOf, shareOf } from "../../tier.ts";
import { describeBackend } from "../../trainers/describe-backend.ts";
import { decoderConfigs } from "./decoder-configs.ts";
import { sharedEngine } from "./shared-engine.ts";
import { tinyConfig } from "./tiny-config.ts";

type Bits = 4 | 8;
const both: readonly Bits[] = [4, 8];

const engine = (quantize?: Bits, roundInputs?: boolean) =>
  sharedEngine({ device: "cpu", threads: 1, ...(quantize && { quantize }), ...(roundInputs && { roundInputs }) });
const adapter: LoraSpec = { rank: 2, alpha: 4, seed: 3 };
const lora: TrainableSpec = { type: "lora", lora: adapter };
const frozen: TrainableSpec = { type: "frozen" };
const adam = { learningRate: 0.02, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0 };
const large = { vocab_size: 263, max_position_embeddings: 64, initializer_range: 0.2 };

/** A family whose rows are whole blocks, and families with partial blocks, biases, learned positions and untied heads. */
const configs = {
  "llama, tied": tinyConfig,
  "llama with every bias": { ...decoderConfigs["llama with every bias"], ...large },
  gpt2: { ...decoderConfigs.gpt2, ...large, n_positions: 64 },
  gemma3: { ...decoderConfigs["gemma3, windows with positions of their own, scaled queries"], ...large },
};

/** Writes a model with random weights to a folder. */
async function writeModel(config: object): Promise<string> {
  const folder = path.join(temporaryFolder(), "model");
  const source = { type: "scratch", config: config as Record<string, unknown>, seed: 5 } as const;
  const model = await (await engine()).openModel({ source, trainable: { type: "full" } });
  await model.export(folder, "huggingface", { dtype: "float32" });
  // A test changes files on purpose.
  await rm(path.join(folder, modelChecksumsFile), { force: true });
  return folder;
}

async function open(folder: string, trainable: TrainableSpec, quantize?: Bits, more: object = {}): Promise<Model> {
  const source = { type: "pretrained", path: folder, ...more } as ModelSpec["source"];
  return (await engine(quantize)).openModel({ source, trainable });
}

const ids = Array.from({ length: 30 }, (_, i) => 40 + ((i * i + 3 * i) % 80));
const data: readonly Datum[] = [ids, ids.slice(4, 12)].map((each) =>
  datumFromIds({ ids: each, mask: each.map((_, i) => (i === 0 ? 0 : 1)) }),
);

async function logprobs(model: Model): Promise<number[]> {
  const results = await model.forward(data, { outputs: ["logprobs"] });
  return results.flatMap(({ logprobs }) => [...logprobs!]);
}

async function train(model: Model, steps: number): Promise<number[]> {
  const losses: number[] = [];
  for (let step = 1; step <= steps; step++) {
    losses.push((await model.forwardBackward(data, [{ type: "crossEntropy" }])).loss);
    await model.optimStep(adam, { stepId: step });
  }
  return losses;
}

function distance(a: readonly number[], b: readonly number[]): number {
  expect(a.length).toBe(b.length);
  return a.reduce((most, value, i) => Math.max(most, Math.abs(value - b[i]!)), 0);
}

/** Half of the families with 4 bits, half with 8. The slow tier has all with both. */
const families = Object.entries(configs).map(
  ([name, config], index) => [name, config, shareOf(both, { engine: index % 2, of: 2 })] as const,
);

describe.each(families)("a quantized base of %s", (_, config, choices) => {
  let folder: string;
  beforeAll(async () => {
    folder = await writeModel(config);
  });

  it.each(choices)("with %d bits trains as float32 weights with the values of its blocks do", async (bits) => {
    const quantized = await open(folder, lora, bits);
    const values = path.join(temporaryFolder(), "values");
    await quantized.export(values, "huggingface", { dtype: "float32" });
    const plain = await open(values, lora);
    expect(distance(await logprobs(quantized), await logprobs(plain))).toBeLessThan(1e-5);
    const losses = await train(quantized, 8);
    expect(distance(losses, await train(plain, 8))).toBeLessThan(1e-3 * losses[0]!);
    expect(distance(await logprobs(quantized), await logprobs(plain))).toBeLessThan(1e-3);
    expect(losses.at(-1)!).toBeLessThan(0.9 * losses[0]!);
    // It differs from the weights before, less so with more bits.
    const original = await logprobs(await open(folder, frozen));
    const rounding = distance(original, await logprobs(await open(folder, frozen, bits)));
    expect(rounding).toBeGreaterThan(1e-4);
    expect(rounding).toBeLessThan(bits === 8 ? 0.3 : 5);
  });

  it.each(choices)("with %d bits and rounded inputs samples nearly with the exact log-probabilities", async (bits) => {
    const exported = path.join(temporaryFolder(), "adapter");
    const trained = await open(folder, lora, bits);
    await train(trained, 4);
    await trained.export(exported, "peft");
    const source = { type: "pretrained", path: exported } as const;
    const model = await (await engine(bits, true)).openModel({ source, trainable: frozen });
    // One row and several, in a group and apart.
    const requests = [20, 20, 20, 7, 5].map((length, seed) => ({
      promptIds: ids.slice(0, length),
      seed,
      stopTokenIds: [],
      settings: { temperature: 1, maxTokens: 12 },
    }));
    const sampler = await model.snapshot();
    const exact: number[] = [];
    const sampled: number[] = [];
    for (const batch of [requests.slice(0, 1), requests]) {
      for (const { request, ids: own, logprobs } of await Array.fromAsync(sampler.sample(batch))) {
        const whole = [...batch[request]!.promptIds, ...own];
        exact.push(...(await sampler.score!({ ids: whole, last: own.length })).logprobs);
        sampled.push(...logprobs);
      }
    }
    const differences = sampled.map((value, i) => Math.abs(value - exact[i]!));
    expect(mean(differences)).toBeGreaterThan(1e-4);
    expect(mean(differences)).toBeLessThan(0.05);
    // Scores do not round, as those of an engine that trains.
    const plain = await (await open(exported, frozen, bits)).snapshot();
    expect(await sampler.score!({ ids })).toEqual(await plain.score!({ ids }));
    await sampler.close();
    await plain.close();
  });

  it.each(choices)("with %d bits samples with the log-probabilities that it trains with", async (bits) => {
    const model = await open(folder, lora, bits);
    await train(model, 2);
    const sampler = await model.snapshot();
    // One row, and many rows in groups: both forms of decoding.
    for (const rows of [1, 12]) {
      const requests = Array.from({ length: rows }, (_, i) => ({
        promptIds: ids.slice(0, 5 + (i % 3)),
        seed: i,
        stopTokenIds: [],
        settings: { temperature: 1, maxTokens: 12 },
      }));
      const samples = await Array.fromAsync(sampler.sample(requests));
      const trained = samples.map((sample) => {
        const { promptIds } = requests[sample.request]!;
        return datumFromIds({
          ids: [...promptIds, ...sample.ids],
          mask: [...promptIds.map(() => 0), ...sample.ids.map(() => 1)],
        });
      });
      const results = await model.forward(trained, { outputs: ["logprobs"] });
      const found = results.flatMap(({ logprobs }, i) =>
        [...logprobs!].filter((_, place) => trained[i]!.lossMask[place] !== 0),
      );
      const sampled = samples.flatMap((sample) => sample.logprobs);
      expect(distance(sampled, found)).toBeLessThan(1e-4);
    }
    await sampler.close();
  });
});

describe("an adapter of a quantized base", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await writeModel(tinyConfig);
  });

  it("plays on the base in float32, and one of the base in float32 plays on the quantized one", async () => {
    for (const [from, to] of [
      [8, undefined],
      [undefined, 8],
    ] as const) {
      const model = await open(folder, lora, from);
      await train(model, 3);
      const exported = path.join(temporaryFolder(), "adapter");
      await model.export(exported, "peft");
      const same = await logprobs(await open(exported, frozen, from));
      expect(distance(same, await logprobs(model))).toBeLessThan(1e-6);
      const other = await logprobs(await open(exported, frozen, to));
      expect(distance(other, same)).toBeLessThan(0.3);
    }
  });

  it("continues from a checkpoint with the same bits only", async () => {
    const model = await open(folder, lora, 4);
    await train(model, 2);
    const saved = path.join(temporaryFolder(), "saved");
    await model.save(saved);
    const resumed = await open(folder, lora, 4);
    await resumed.load(saved);
    expect(await logprobs(resumed)).toEqual(await logprobs(model));
    for (const bits of [8, undefined] as const) {
      await expect((await open(folder, lora, bits)).load(saved)).rejects.toMatchObject({
        code: "checkpoint.unusable",
        message: expect.stringContaining("backend.quantize"),
      });
      // Without its optimizer, the adapter is opened to be evaluated or exported.
      const opened = await open(folder, lora, bits);
      await opened.load(saved, { optimizer: false });
      expect(distance(await logprobs(opened), await logprobs(model))).toBeLessThan(5);
    }
  });

  it("is the only thing that can be trained", async () => {
    const exported = path.join(temporaryFolder(), "adapter");
    await (await open(folder, lora, 8)).export(exported, "peft");
    const refused = { code: "config.invalid", hint: expect.stringContaining("model.adapter") };
    await expect(open(folder, { type: "full" }, 8)).rejects.toMatchObject(refused);
    await expect(open(exported, { type: "lora", lora: adapter, start: "merge" }, 8)).rejects.toMatchObject(refused);
    const scratch = { type: "scratch", config: tinyConfig, seed: 1 } as const;
    for (const trainable of [lora, frozen]) {
      await expect((await engine(8)).openModel({ source: scratch, trainable })).rejects.toMatchObject(refused);
    }
  });

  it("needs weights that are finite", async () => {
    const damaged = await writeModel(tinyConfig);
    const file = path.join(damaged, "model.safetensors");
    const bytes = await readFile(file);
    // The last value of the file is one of a matrix or of a norm: all of the last tensors are replaced.
    bytes.fill(0xff, bytes.length - 4 * 32 * 64);
    await writeFile(file, bytes);
    await expect(open(damaged, lora, 8)).rejects.toMatchObject({
      code: "model.malformed",
      message: expect.stringContaining("not finite"),
    });
  });
});

describe("the option quantize", () => {
  it.each([
    [{ quantize: 8, device: "webgpu" }, "model.device to cpu"],
    [{ quantize: 4, deviceIndex: 0 }, "model.device to cpu"],
    [{ quantize: 4, precision: "float16" }, "model.precision"],
    [{ quantize: 5 as 4 }, "8 or 4"],
  ] as const)("is refused as %j", async (options, hint) => {
    await expect(createOnnxBackend(options)).rejects.toMatchObject({
      code: "config.invalid",
      hint: expect.stringContaining(hint),
    });
  });
});

const pretrained = { type: "pretrained", path: await writeModel(tinyConfig) } as const;

for (const quantize of sampleOf(both, 2)) {
  describeBackend(`embedded engine with ${quantize} bits`, {
    create: () => createOnnxBackend({ device: "cpu", threads: 1, quantize }),
    specs: { lora: { source: pretrained, trainable: { type: "lora", lora: { rank: 4, alpha: 16, seed: 3 } } } },
    tolerance: 1e-4,
  });
}
