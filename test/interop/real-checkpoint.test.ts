import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { textMessage } from "../../src/contract/message.ts";
import { loadRenderer } from "../../src/core/tokens/load-renderer.ts";
import type { Model, TrainableSpec, TrainingBackend } from "../../trainers/backend/training-backend.ts";
import { createOnnxBackend } from "../../trainers/backends/onnx/index.ts";
import { readGradients, readLogits, setParameters } from "../../trainers/backends/onnx/inspect.ts";
import { readPeftAdapter } from "../../trainers/model-folders/weights/peft-adapter.ts";
import { expectGradients, largestDifference, logitTolerance } from "./compare.ts";
import { expectGreedy } from "./greedy.ts";
import {
  forwardReference,
  gradientReference,
  greedyReference,
  type ModelFolders,
  makeAdapters,
  temporaryFolder,
} from "./reference.ts";
import { makeData, randomIds, toDatum } from "./sequences.ts";

const { smollm2, quick } = inject("interop");

const questions = [
  "What is the capital of France?",
  "Natalia has 12 apples and gives 5 of them away. Then she buys twice as many as she has left. How many has she now?",
  "Write a function in Python that says whether a number is prime, and explain it.",
  "Γράψε μια πρόταση για το Λύκειο. 请用中文回答。🙂",
];
const targets = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"] as const;
const lora = { rank: 8, alpha: 16, targets };
const terms = [{ type: "crossEntropy" }, { type: "policyGradient", weight: 0.5 }] as const;

describe.skipIf(quick)("SmolLM2-135M-Instruct (skipped in the quick run)", () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  let backend: TrainingBackend;
  let prompts: number[][];
  let adapted: ModelFolders;

  beforeAll(async () => {
    folder = await temporaryFolder();
    adapted = { checkpoint: smollm2, adapter: join(folder.path, "adapter") };
    await makeAdapters([{ ...lora, checkpoint: smollm2, folder: adapted.adapter!, seed: 1 }]);
    backend = await createOnnxBackend({ device: "cpu" });
    const renderer = await loadRenderer(smollm2);
    prompts = questions.map((question) => renderer.start({ messages: [textMessage("user", question)] }));
  });

  afterAll(async () => {
    await backend?.close();
    await folder?.[Symbol.asyncDispose]();
  });

  async function withModel(trainable: TrainableSpec, use: (model: Model) => Promise<void>): Promise<void> {
    const model = await backend.openModel({ source: { type: "pretrained", path: smollm2 }, trainable });
    await use(model);
    await model.close();
  }

  /** Runs `use` with the adapter that peft wrote. */
  async function withAdapted(use: (model: Model) => Promise<void>): Promise<void> {
    const { tensors } = await readPeftAdapter(adapted.adapter!);
    await withModel({ type: "lora", lora }, async (model) => {
      await setParameters(model, tensors);
      await use(model);
    });
  }

  /**
   * Expects the logits of transformers, to 1e-4. Over 30 layers, float32 is not always that exact. If transformers' own
   * logits differ by more than half of that from its logits in float64, twice their difference is allowed, because
   * Lyceum's rounding has the same size.
   */
  async function expectLogits(model: Model, sequences: number[][], folders: ModelFolders): Promise<void> {
    const [reference] = await forwardReference([{ ...folders, ids: sequences, measureRounding: true }]);
    for (const [index, sequence] of sequences.entries()) {
      const difference = largestDifference(await readLogits(model, sequence), reference!.logits[index]!);
      const rounding = reference!.rounding[index]!;
      console.log(
        `sequence ${index}: ${difference.toExponential(1)} (transformers' rounding ${rounding.toExponential(1)})`,
      );
      expect(difference, `sequence ${index}`).toBeLessThanOrEqual(Math.max(logitTolerance, 2 * rounding));
    }
  }

  test("has the logits of transformers", async () => {
    const random = randomIds({ lengths: [1, 300], vocabularySize: 49_152, seed: 20 });
    await withModel({ type: "frozen" }, (model) =>
      expectLogits(model, [...prompts, ...random], { checkpoint: smollm2 }),
    );
  });

  test("has the logits of peft", async () => {
    await withAdapted((model) => expectLogits(model, prompts, adapted));
  });

  test("has PyTorch's LoRA gradients", async () => {
    const data = makeData({ sequences: prompts, seed: 21 });
    const [reference] = await gradientReference([{ ...adapted, data, terms }]);
    await withAdapted(async (model) => {
      await model.forwardBackward(data.map(toDatum), terms);
      expectGradients(await readGradients(model), reference!.gradients);
    });
  });

  test("has PyTorch's gradients of all parameters", async () => {
    const data = makeData({ sequences: prompts.slice(0, 2), seed: 22 });
    const [reference] = await gradientReference([{ checkpoint: smollm2, data, terms }]);
    await withModel({ type: "full" }, async (model) => {
      await model.forwardBackward(data.map(toDatum), terms);
      expectGradients(await readGradients(model), reference!.gradients);
    });
  });

  test("continues greedily like transformers", async () => {
    const [reference] = await greedyReference([{ checkpoint: smollm2, prompts, tokens: 64 }]);
    await withModel({ type: "frozen" }, async (model) => {
      const sampler = await model.snapshot();
      const settings = { temperature: 0, maxTokens: 64 };
      const requests = prompts.map((promptIds) => ({ promptIds, settings, seed: 0, stopTokenIds: [] }));
      for await (const { request, ids } of sampler.sample(requests)) expectGreedy(ids, reference![request]!);
      await sampler.close();
    });
  });

  test.each(["huggingface", "peft"] as const)("exports a %s folder with the same logits", async (format) => {
    const exported = join(folder.path, format);
    await withModel(format === "peft" ? { type: "lora", lora } : { type: "full" }, async (model) => {
      const data = makeData({ sequences: prompts.slice(0, 2), seed: 23 }).map(toDatum);
      const adam = { learningRate: 1e-4, beta1: 0.9, beta2: 0.99, epsilon: 1e-8, weightDecay: 0 };
      for (const stepId of [0, 1]) {
        await model.forwardBackward(data, [{ type: "crossEntropy", weight: 0.01 }]);
        await model.optimStep(adam, { stepId });
      }
      await model.export(exported, format, { dtype: "float32" });
      const folders = format === "peft" ? { checkpoint: smollm2, adapter: exported } : { checkpoint: exported };
      await expectLogits(model, prompts, folders);
    });
  });
});
