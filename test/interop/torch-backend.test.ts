import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { datumFromIds } from "../../trainers/backend/datum.ts";
import type { Model, ModelSource, TrainableSpec, TrainingBackend } from "../../trainers/backend/training-backend.ts";
import { createOnnxBackend } from "../../trainers/backends/onnx/index.ts";
import { createTorchBackend } from "../../trainers/backends/torch/index.ts";
import { exampleData } from "../../trainers/testing/model-subject.ts";
import { tinyConfig } from "../backends/onnx/tiny-config.ts";
import { describeBackend } from "../trainers/describe-backend.ts";
import { describeSampler } from "../trainers/describe-sampler.ts";
import { tinyCheckpoints, tinyVocabularySize } from "./checkpoints.ts";
import { makeAdapters } from "./reference.ts";
import { makeData, randomIds, toDatum } from "./sequences.ts";
import { torchPython } from "./torch-python.ts";

const { checkpoints, smollm2, quick } = inject("interop");
const python = await torchPython();
const source = { type: "scratch", config: tinyConfig, seed: 1 } as const;
const lora = { type: "lora", lora: { rank: 4, alpha: 16, seed: 3 } } as const;
const create = () => createTorchBackend({ python, device: "cpu", threads: 1 });
const adam = { learningRate: 1e-3, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0.01, clipNorm: 1 };

describeBackend("the PyTorch backend on cpu", {
  create,
  specs: quick
    ? { lora: { source, trainable: lora } }
    : { full: { source, trainable: { type: "full" } }, lora: { source, trainable: lora } },
});

let samplingBackend: Promise<TrainingBackend> | undefined;
afterAll(async () => (await samplingBackend)?.close());
describeSampler("the sampler of the PyTorch backend", async () => {
  samplingBackend ??= createTorchBackend({ python, device: "cpu", threads: 1, decodeBatchSize: 2 });
  const model = await (await samplingBackend).openModel({ source, trainable: { type: "frozen" } });
  return { model, close: () => model.close() };
});

describe("the PyTorch backend", () => {
  let torch: TrainingBackend;
  let onnx: TrainingBackend;
  beforeAll(async () => {
    torch = await create();
    onnx = await createOnnxBackend({ device: "cpu", threads: 1 });
  });
  afterAll(async () => {
    await torch?.close();
    await onnx?.close();
  });

  const shape = {
    vocab_size: 263,
    hidden_size: 32,
    intermediate_size: 64,
    num_hidden_layers: 2,
    num_attention_heads: 4,
    num_key_value_heads: 2,
    head_dim: 8,
    max_position_embeddings: 128,
    initializer_range: 0.2,
    pad_token_id: null,
    bos_token_id: null,
    eos_token_id: null,
  };
  const families = {
    llama: { model_type: "llama" },
    qwen2: { model_type: "qwen2" },
    qwen3: { model_type: "qwen3" },
    gemma3: {
      model_type: "gemma3_text",
      sliding_window: 8,
      layer_types: ["sliding_attention", "full_attention"],
      query_pre_attn_scalar: 8,
    },
    gemma2: {
      model_type: "gemma2",
      sliding_window: 8,
      final_logit_softcapping: 5.5,
      attn_logit_softcapping: 20.5,
      query_pre_attn_scalar: 8,
    },
    mistral: { model_type: "mistral", sliding_window: 8 },
    phi3: { model_type: "phi3", sliding_window: null },
    mixtral: { model_type: "mixtral", num_local_experts: 4, num_experts_per_tok: 2 },
    "qwen3 with experts": {
      model_type: "qwen3_moe",
      num_experts: 4,
      num_experts_per_tok: 2,
      moe_intermediate_size: 32,
    },
  };

  it.each(
    Object.entries(families).filter((_, index) => !quick || index % 2 === 0),
  )("samples as it scores, trains, and opens its export: %s", async (_, family) => {
    const config = { ...shape, ...family };
    await using folder = await mkdtempDisposable(join(tmpdir(), "lyceum-torch-"));
    const model = await torch.openModel({ source: { type: "scratch", config, seed: 2 }, trainable: lora });
    const prompts = [3, 20, 20, 40].map(
      (length, seed) => randomIds({ lengths: [length], vocabularySize: 200, seed })[0]!,
    );
    // So many that adapters are merged, and with equal prompts, which passes read once.
    const requests = Array.from({ length: 9 }, (_, seed) => ({
      promptIds: prompts[seed % 4 === 2 ? 1 : seed % 4]!,
      settings: { temperature: 1, maxTokens: 20 },
      seed,
      stopTokenIds: [],
    }));
    const losses: number[] = [];
    const data = prompts.map((ids) => datumFromIds({ ids: [...ids], mask: ids.map(() => 1) }));
    for (let step = 1; step <= 5; step++) {
      losses.push((await model.forwardBackward(data, [{ type: "crossEntropy" }])).loss);
      await model.optimStep({ ...adam, learningRate: 0.02 }, { stepId: step });
    }
    expect(losses.at(-1)).toBeLessThan(0.95 * losses[0]!);
    const samples = await Array.fromAsync((await model.snapshot()).sample(requests));
    for (const [promptIds, group] of Map.groupBy(samples, ({ request }) => requests[request]!.promptIds)) {
      const scored = group.map(({ ids }) => {
        const whole = [...promptIds, ...ids];
        return datumFromIds({ ids: whole, mask: whole.map((_, i) => (i < promptIds.length ? 0 : 1)) });
      });
      const found = await model.forward(scored, { outputs: ["logprobs"] });
      for (const [i, { logprobs }] of group.entries()) {
        expectClose(found[i]!.logprobs!.slice(promptIds.length - 1), logprobs, 1e-4);
      }
      // The gradient too is the sum of those of each alone.
      const passes = [[scored], scored.map((datum) => [datum])];
      const norms: number[] = [];
      for (const [n, batches] of passes.entries()) {
        for (const batch of batches) await model.forwardBackward(batch, [{ type: "crossEntropy" }]);
        const step = { ...adam, learningRate: 0 };
        norms.push((await model.optimStep(step, { stepId: 10 + 2 * promptIds.length + n })).gradientNorm);
      }
      expect(Math.abs(norms[1]! / norms[0]! - 1)).toBeLessThan(1e-4);
    }
    const path = join(folder.path, "exported");
    await model.export(path, "huggingface", { dtype: "float32" });
    const opened = await torch.openModel({ source: { type: "pretrained", path }, trainable: { type: "frozen" } });
    await expectSame(model, opened, 1e-4);
    for (const each of [model, opened]) await each.close();
  });

  it("drops inputs in cross-entropy only, and draws the same masks after a resume", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "lyceum-torch-"));
    const dropping = { source, trainable: { type: "lora", lora: { rank: 4, seed: 3, dropout: 0.5 } } } as const;
    const data = exampleData(2);
    const step = async (model: Model): Promise<number> => {
      const { loss } = await model.forwardBackward(data, [{ type: "crossEntropy" }]);
      await model.optimStep({ ...adam, learningRate: 0.05 }, { stepId: model.version + 1 });
      return loss;
    };
    const model = await torch.openModel(dropping);
    for (let i = 0; i < 3; i++) await step(model);
    const path = join(folder.path, "saved");
    await model.save(path);
    const resumed = await torch.openModel(dropping);
    await resumed.load(path);
    const { loss: dropped } = await model.forwardBackward(data, [{ type: "crossEntropy" }]);
    const { loss: other } = await model.forwardBackward(data, [{ type: "crossEntropy" }]);
    expect(other).not.toBe(dropped);
    expect((await resumed.forwardBackward(data, [{ type: "crossEntropy" }])).loss).toBe(dropped);
    const graded = data.map((datum) => ({ ...datum, advantages: datum.lossMask }));
    const policy = [
      (await model.forwardBackward(graded, [{ type: "policyGradient" }])).loss,
      (await model.forwardBackward(graded, [{ type: "policyGradient" }])).loss,
    ];
    expect(policy[0]).toBe(policy[1]);
    for (const each of [model, resumed]) await each.close();
  });

  it.each(
    tinyCheckpoints(quick).map(({ name }) => name),
  )("has the losses of the embedded engine in ten steps: %s", async (name) => {
    const path = join(checkpoints, name);
    await using folder = await mkdtempDisposable(join(tmpdir(), "lyceum-torch-"));
    const start = join(folder.path, "adapter");
    const first = await onnx.openModel({ source: { type: "pretrained", path }, trainable: lora });
    await first.export(start, "peft");
    await first.close();
    await compareTraining({ type: "pretrained", path: start, base: path }, { ...lora, start: "continue" }, 512);
  });

  it.skipIf(quick)(
    "has the losses and greedy texts of the embedded engine with SmolLM2 (skipped in the quick run)",
    async () => {
      await using folder = await mkdtempDisposable(join(tmpdir(), "lyceum-torch-"));
      const start = join(folder.path, "adapter");
      const first = await onnx.openModel({ source: { type: "pretrained", path: smollm2 }, trainable: lora });
      await first.export(start, "peft");
      await first.close();
      await compareTraining({ type: "pretrained", path: start, base: smollm2 }, { ...lora, start: "continue" }, 40_000);
    },
  );

  it.skipIf(quick)("scales gradients in float16, and repeats a pass whose gradient overflows", async () => {
    await using half = await createTorchBackend({ python, device: "cpu", threads: 1, precision: "float16" });
    const data = exampleData(5);
    const norms: number[] = [];
    for (const backend of [torch, half]) {
      const model = await backend.openModel({ source, trainable: lora });
      // The first gradient needs a scale below 1/65536 of the second one's.
      for (const [step, weight] of [1e4, 1, 1e-4].entries()) {
        await model.forwardBackward(data, [{ type: "crossEntropy", weight }]);
        norms.push((await model.optimStep(adam, { stepId: step })).gradientNorm);
      }
      await model.close();
    }
    for (const i of [0, 1, 2]) expect(Math.abs(norms[i + 3]! / norms[i]! - 1)).toBeLessThan(0.02);
  });

  it.skipIf(quick)("refuses quantized weights that would be trained, or without the package", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "lyceum-torch-"));
    await using quantized = await createTorchBackend({ python, device: "cpu", threads: 1, quantize: 4 });
    const path = join(folder.path, "base");
    const made = await torch.openModel({ source, trainable: { type: "full" } });
    await made.export(path, "huggingface");
    await made.close();
    const pretrained = { type: "pretrained", path } as const;
    await expect(quantized.openModel({ source: pretrained, trainable: { type: "full" } })).rejects.toMatchObject({
      code: "config.invalid",
      hint: expect.stringContaining("model.adapter"),
    });
    await expect(quantized.openModel({ source, trainable: lora })).rejects.toMatchObject({ code: "config.invalid" });
    await expect(quantized.openModel({ source: pretrained, trainable: lora })).rejects.toMatchObject({
      code: "backend.unsupported",
      hint: expect.stringContaining("-m pip install bitsandbytes"),
    });
  });

  it("keeps models of one base apart: adapters of low rank or with modules of their own, trained and closed", async () => {
    const path = join(checkpoints, tinyCheckpoints(true)[0]!.name);
    await using folder = await mkdtempDisposable(join(tmpdir(), "lyceum-torch-"));
    const kinds = { plain: {}, head: { modules_to_save: ["lm_head"] }, tokens: { trainable_token_indices: [1, 2] } };
    const common = { checkpoint: path, rank: 4, alpha: 16, targets: ["q_proj"] };
    const starts = Object.keys(kinds).map((kind) => join(folder.path, kind));
    await makeAdapters(Object.values(kinds).map((more, seed) => ({ ...common, folder: starts[seed]!, seed, more })));
    const ids = randomIds({ lengths: [12, 30], vocabularySize: tinyVocabularySize, seed: 4 });
    const data = makeData({ sequences: ids, seed: 5 }).map(toDatum);
    const outputs = { outputs: ["logprobs"] } as const;
    const base = await torch.openModel({ source: { type: "pretrained", path }, trainable: { type: "frozen" } });
    const before = await base.forward(data, outputs);
    const models = [];
    for (const start of [...starts, ...starts]) {
      const from = { type: "pretrained", path: start, base: path } as const;
      models.push(await torch.openModel({ source: from, trainable: { ...lora, start: "continue" } }));
    }
    const found: unknown[] = [];
    for (const [i, model] of models.entries()) {
      await model.forwardBackward(data, [{ type: "crossEntropy" }]);
      await model.optimStep({ ...adam, learningRate: 0.1 }, { stepId: 1 });
      found.push(await model.forward(data, outputs));
      expect(await base.forward(data, outputs)).toEqual(before);
      for (const [j, other] of models.slice(0, i).entries())
        expect(await other.forward(data, outputs)).toEqual(found[j]);
    }
    expect(found[0]).not.toEqual(before);
    expect(found[1]).not.toEqual(found[0]);
    for (const model of models) {
      await model.close();
      expect(await base.forward(data, outputs)).toEqual(before);
    }
    const again = await torch.openModel({ source: { type: "pretrained", path }, trainable: lora });
    expect(await again.forward(data, outputs)).toEqual(before);
    await again.close();
    await base.close();
  });

  /** Trains on both backends, and compares losses of each step, then greedy continuations. */
  async function compareTraining(from: ModelSource, trainable: TrainableSpec, vocabularySize: number): Promise<void> {
    const size = Math.min(vocabularySize, tinyVocabularySize);
    const ids = randomIds({ lengths: [12, 30, 60], vocabularySize: size, seed: 4 });
    const data = makeData({ sequences: ids, seed: 5 }).map(toDatum);
    const models = [
      await onnx.openModel({ source: from, trainable }),
      await torch.openModel({ source: from, trainable }),
    ];
    const terms = [{ type: "crossEntropy" }, { type: "policyGradient", weight: 0.5 }] as const;
    const losses: number[][] = [];
    for (const model of models) {
      const own: number[] = [];
      for (let step = 1; step <= 10; step++) {
        own.push((await model.forwardBackward(data, terms)).loss);
        await model.optimStep(adam, { stepId: step });
      }
      losses.push(own);
    }
    for (const [step, loss] of losses[0]!.entries())
      expect(Math.abs(losses[1]![step]! - loss) / Math.abs(loss)).toBeLessThan(1e-3);
    const texts = await Promise.all(models.map((model) => greedy(model, ids)));
    expect(texts[1]).toEqual(texts[0]);
    for (const model of models) await model.close();
  }
});

async function greedy(model: Model, prompts: readonly (readonly number[])[]): Promise<number[][]> {
  const settings = { temperature: 0, maxTokens: 16 };
  const requests = prompts.map((promptIds) => ({ promptIds, settings, seed: 1, stopTokenIds: [] }));
  const samples = await Array.fromAsync((await model.snapshot()).sample(requests));
  return samples.toSorted((a, b) => a.request - b.request).map(({ ids }) => [...ids]);
}

async function expectSame(a: Model, b: Model, tolerance: number): Promise<void> {
  const ids = randomIds({ lengths: [50], vocabularySize: 200, seed: 9 })[0]!;
  const data = [datumFromIds({ ids: [...ids], mask: ids.map(() => 1) })];
  const [first, second] = [
    await a.forward(data, { outputs: ["logprobs"] }),
    await b.forward(data, { outputs: ["logprobs"] }),
  ];
  expectClose(second[0]!.logprobs!, [...first[0]!.logprobs!], tolerance);
}

function expectClose(actual: Float32Array, expected: readonly number[], tolerance: number): void {
  expect(actual.length).toBe(expected.length);
  const differences = Array.from(actual, (value, i) => Math.abs(value - expected[i]!));
  expect(Math.max(...differences)).toBeLessThan(tolerance);
}
