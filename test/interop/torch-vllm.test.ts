import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { textMessage } from "../../src/contract/message.ts";
import type { Sample, SampleRequest, Sampler } from "../../src/contract/sampler.ts";
import { datumFromIds } from "../../trainers/backend/datum.ts";
import type { Model, ModelSource, TrainableSpec, TrainingBackend } from "../../trainers/backend/training-backend.ts";
import { createTorchBackend } from "../../trainers/backends/torch/index.ts";
import { describeBackend } from "../trainers/describe-backend.ts";
import { describeSampler } from "../trainers/describe-sampler.ts";
import { providePythonEnvironment, pythonOf } from "./python-environment.ts";
import { torchPython } from "./torch-python.ts";

const environment = await providePythonEnvironment({
  name: "vllm",
  requirements: "vllm-requirements.txt",
  download: "2.2 GB",
});
process.env.PYTHONPYCACHEPREFIX = join(environment, "pycache");
process.env.PYTHONDONTWRITEBYTECODE = "";

const { smollm2 } = inject("interop");
const torch = { python: pythonOf(environment), device: "cpu", threads: 1 } as const;
const vllm = { ...torch, sampler: "vllm", samplerMemory: 0.25 } as const;
// vLLM's attention on a CPU begins with heads of 32 numbers.
const config = {
  model_type: "llama",
  vocab_size: 263,
  hidden_size: 64,
  intermediate_size: 64,
  num_hidden_layers: 2,
  num_attention_heads: 2,
  num_key_value_heads: 1,
  max_position_embeddings: 64,
  rms_norm_eps: 1e-6,
  tie_word_embeddings: true,
  initializer_range: 0.2,
};
const source: ModelSource = { type: "scratch", config, seed: 1 };
const lora: TrainableSpec = { type: "lora", lora: { rank: 4, alpha: 16, seed: 3 } };
const full: TrainableSpec = { type: "full" };
const adam = { learningRate: 1e-2, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0.01, clipNorm: 1 };

const requests = Array.from({ length: 12 }, (_, seed): SampleRequest => {
  const filters = { ...(seed % 3 === 0 ? { topK: 20, topP: 0.9 } : {}), ...(seed % 5 === 0 ? { minP: 0.05 } : {}) };
  return {
    promptIds: [65, 66, 67 + (seed % 3)],
    seed,
    stopTokenIds: [5, 6, 7],
    topLogprobs: seed % 4,
    settings: { temperature: [1, 0, 0.7, 1][seed % 4]!, maxTokens: 5 + seed, supports: true, ...filters },
  };
});

async function sampled(sampler: Sampler, wanted: readonly SampleRequest[] = requests): Promise<Sample[]> {
  const samples = await Array.fromAsync(sampler.sample(wanted));
  return samples.sort((a, b) => a.request - b.request);
}

async function takeStep(model: Model): Promise<void> {
  await model.forwardBackward(
    [datumFromIds({ ids: [65, 66, 67, 68, 69, 70], mask: [0, 1, 1, 1, 1, 1] })],
    [{ type: "crossEntropy" }],
  );
  await model.optimStep(adam, { stepId: model.version + 1 });
}

/** Equal tokens, ends and reported ids; log-probabilities to a tolerance. */
function expectSame(actual: readonly Sample[], expected: readonly Sample[]): void {
  const chosen = ({ ids, finish, supports, topLogprobs }: Sample) => ({
    ids: [...ids],
    finish,
    supports,
    top: topLogprobs?.map((entries) => entries.map(([id]) => id)),
  });
  expect(actual.map(chosen)).toEqual(expected.map(chosen));
  for (const [i, { logprobs, topLogprobs }] of actual.entries()) {
    for (const [t, logprob] of logprobs.entries()) expect(logprob).toBeCloseTo(expected[i]!.logprobs[t]!, 4);
    for (const [t, entries] of (topLogprobs ?? []).entries()) {
      for (const [n, [, logprob]] of entries.entries()) {
        expect(logprob).toBeCloseTo(expected[i]!.topLogprobs![t]![n]![1], 4);
      }
    }
  }
}

describeBackend("the PyTorch backend with vLLM", {
  create: () => createTorchBackend(vllm),
  specs: { full: { source, trainable: full }, lora: { source, trainable: lora } },
});

let conforming: Promise<TrainingBackend> | undefined;
afterAll(async () => (await conforming)?.close());
describeSampler("the sampler of vLLM", async () => {
  conforming ??= createTorchBackend({ ...vllm, decodeBatchSize: 2 });
  const model = await (await conforming).openModel({ source, trainable: { type: "frozen" } });
  return { model, close: () => model.close() };
});

describe("vLLM in the worker", () => {
  let plain: TrainingBackend;
  let other: TrainingBackend;
  beforeAll(async () => {
    plain = await createTorchBackend(torch);
    other = await createTorchBackend(vllm);
  });
  afterAll(async () => {
    await plain?.close();
    await other?.close();
  });

  it.each([
    ["an adapter", lora],
    ["all weights", full],
  ] as const)("draws the tokens of PyTorch after each step: %s", async (_, trainable) => {
    const models = [await plain.openModel({ source, trainable }), await other.openModel({ source, trainable })];
    for (let step = 0; step < 3; step++) {
      const samples: Sample[][] = [];
      for (const model of models) {
        const sampler = await model.snapshot();
        samples.push(await sampled(sampler));
        await sampler.close();
        await takeStep(model);
      }
      expectSame(samples[1]!, samples[0]!);
    }
    for (const model of models) await model.close();
  });

  it.each([
    ["adapters", lora],
    ["all weights", full],
  ] as const)("samples from earlier weights and from the current ones at the same time: %s", async (_, trainable) => {
    const found: Sample[][][] = [];
    for (const backend of [plain, other]) {
      const model = await backend.openModel({ source, trainable });
      const before = await model.snapshot();
      await takeStep(model);
      const after = await model.snapshot();
      found.push(await Promise.all([sampled(before), sampled(after), sampled(before)]));
      for (const sampler of [before, after]) await sampler.close();
      await model.close();
    }
    for (const [n, samples] of found[1]!.entries()) expectSame(samples, found[0]![n]!);
    expect(found[0]![0]!.map(({ ids }) => ids)).not.toEqual(found[0]![1]!.map(({ ids }) => ids));
  });

  it("takes a further adapter on the same base that has a greater rank", async () => {
    const wide: TrainableSpec = { type: "lora", lora: { rank: 12, alpha: 24, seed: 4 } };
    const found: Sample[][] = [];
    for (const backend of [plain, other]) {
      const models: Model[] = [];
      for (const trainable of [lora, wide, { type: "frozen" }] as const) {
        const model = await backend.openModel({ source, trainable });
        models.push(model);
        if (trainable.type !== "frozen") await takeStep(model);
      }
      const samplers = await Promise.all(models.map((model) => model.snapshot()));
      found.push((await Promise.all(samplers.map((sampler) => sampled(sampler)))).flat());
      for (const each of [...samplers, ...models]) await each.close();
    }
    expectSame(found[1]!, found[0]!);
  });

  it("ends what is aborted, and goes on with other calls", async () => {
    const model = await other.openModel({ source, trainable: lora });
    const sampler = await model.snapshot();
    const long = requests.map((request) => ({
      ...request,
      stopTokenIds: [],
      settings: { temperature: 1, maxTokens: 60 },
    }));
    const expected = await sampled(sampler, long);
    const controller = new AbortController();
    const aborted = Array.fromAsync(
      sampler.sample(long, {
        signal: controller.signal,
        onTokens: (count) => {
          if (count > 50) controller.abort(new Error("enough"));
        },
      }),
    );
    const [end, rest] = await Promise.allSettled([aborted, sampled(sampler, long)]);
    expect(end).toMatchObject({ status: "rejected", reason: { message: "enough" } });
    expect(rest.status).toBe("fulfilled");
    expectSame((rest as PromiseFulfilledResult<Sample[]>).value, expected);
    const one = new AbortController();
    const signals = long.map((_, index) => (index === 3 ? one.signal : AbortSignal.timeout(600_000)));
    void setTimeout(10).then(() => one.abort());
    const left = await Array.fromAsync(sampler.sample(long, { signals }));
    expect(left.length).toBeGreaterThanOrEqual(long.length - 1);
    await sampler.close();
    await model.close();
  });

  it("has the greedy texts of PyTorch with SmolLM2, with an adapter and without", async () => {
    await using big = await createTorchBackend({ ...vllm, samplerMemory: 0.5 });
    const opened: ModelSource = { type: "pretrained", path: smollm2 };
    const found: Sample[][] = [];
    for (const backend of [plain, big]) {
      for (const trainable of [{ type: "frozen" }, lora] as const) {
        const model = await backend.openModel({ source: opened, trainable });
        if (trainable.type === "lora") await takeStep(model);
        const wanted = ["What is gravity?", "Name three colours.", "Count to ten."].map(
          (content, seed): SampleRequest => ({
            promptIds: model.renderer.start({ messages: [textMessage("user", content)] }),
            seed,
            stopTokenIds: model.renderer.stopTokenIds,
            settings: { temperature: 0, maxTokens: 32 },
          }),
        );
        const sampler = await model.snapshot();
        found.push(await sampled(sampler, wanted));
        for (const each of [sampler, model]) await each.close();
      }
    }
    for (const n of [0, 1]) {
      expect(found[2 + n]!.map(({ ids }) => [...ids])).toEqual(found[n]!.map(({ ids }) => [...ids]));
    }
  });

  it("refuses a prompt that its memory cannot hold", async () => {
    await using small = await createTorchBackend({ ...vllm, samplerMemory: 0.0001 });
    const model = await small.openModel({ source, trainable: { type: "frozen" } });
    const sampler = await model.snapshot();
    const promptIds = Array.from({ length: 50 }, (_, i) => 65 + (i % 20));
    await expect(sampled(sampler, [{ ...requests[0]!, promptIds }])).rejects.toMatchObject({
      code: "backend.failed",
      hint: expect.stringMatching(/samplerMemory/),
    });
  });
});

describe("vLLM is refused", () => {
  it("if it is not installed", async () => {
    const python = await torchPython();
    await expect(createTorchBackend({ ...vllm, python })).rejects.toMatchObject({
      code: "backend.unsupported",
      message: expect.stringMatching(/package vllm/),
      hint: expect.stringMatching(/pip install vllm/),
    });
  });

  it.each([
    ["with several processes", { processes: 2 }],
    ["with quantized weights", { quantize: 4 }],
    ["with a card that is not the first", { deviceIndex: 1 }],
  ] as const)("%s", async (_, options) => {
    await expect(createTorchBackend({ ...vllm, ...options })).rejects.toMatchObject({ code: "config.invalid" });
  });
});
