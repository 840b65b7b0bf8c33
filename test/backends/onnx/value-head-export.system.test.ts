import { readdir } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { datumFromIds } from "../../../trainers/backend/datum.ts";
import type { LoraSpec, Model, ModelSpec, TrainingBackend } from "../../../trainers/backend/training-backend.ts";
import { createOnnxBackend } from "../../../trainers/backends/onnx/index.ts";
import { readPeftAdapter } from "../../../trainers/model-folders/weights/peft-adapter.ts";
import { openWeights } from "../../../trainers/model-folders/weights/safetensors.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { tinyConfig } from "./tiny-config.ts";

const source = { type: "scratch", config: tinyConfig, seed: 1 } as const;
const lora: LoraSpec = { rank: 2, alpha: 4 };
const ids = [60, 61, 62, 63, 64];
const data = [{ ...datumFromIds({ ids, mask: ids.map(() => 1) }), returns: new Float32Array(4).fill(2) }];
const adam = { learningRate: 0.01, beta1: 0.9, beta2: 0.9, epsilon: 1e-8, weightDecay: 0 };

describe("an export of a model with a value head", () => {
  let backend: TrainingBackend;
  let folder: string;
  beforeAll(async () => {
    backend = await createOnnxBackend({ device: "cpu", threads: 1 });
    folder = temporaryFolder();
  });
  afterAll(async () => {
    await backend.close();
  });

  async function trained(spec: Omit<ModelSpec, "source">): Promise<Model> {
    const model = await backend.openModel({ source, ...spec });
    for (const stepId of [1, 2]) {
      await model.forwardBackward(data, [
        { type: "crossEntropy" },
        ...(spec.valueHead === true ? [{ type: "value" } as const] : []),
      ]);
      await model.optimStep(adam, { stepId });
    }
    return model;
  }

  it.each([
    { name: "a whole model", trainable: { type: "full" }, format: "huggingface", weights: "model.safetensors" },
    {
      name: "a merged adapter",
      trainable: { type: "lora", lora },
      format: "huggingface",
      weights: "model.safetensors",
    },
    { name: "an adapter", trainable: { type: "lora", lora }, format: "peft", weights: "adapter_model.safetensors" },
  ] as const)("$name: writes it to its own file, which does not exist without one", async (kind) => {
    const { name, trainable, format, weights } = kind;
    const model = await trained({ trainable, valueHead: true });
    const target = path.join(folder, name);
    await model.export(target, format);
    await using exported = await openWeights(path.join(target, weights));
    await using head = await openWeights(path.join(target, "value_head.safetensors"));
    expect(exported.names.filter((tensor) => tensor.includes("value_head"))).toEqual([]);
    expect(head.names.toSorted()).toEqual(["value_head.bias", "value_head.weight"]);
    expect(head.info("value_head.weight").shape).toEqual([1, tinyConfig.hidden_size]);
    expect(head.info("value_head.bias").shape).toEqual([1]);
    expect((await head.read("value_head.weight")).every((value) => value !== 0)).toBe(true);
    expect((await head.read("value_head.bias"))[0]).toBeGreaterThan(0);

    const plain = path.join(folder, `${name}, plain`);
    await (await trained({ trainable })).export(plain, format);
    expect((await readdir(target)).toSorted()).toEqual(
      [...(await readdir(plain)), "value_head.safetensors"].toSorted(),
    );
    await using withoutHead = await openWeights(path.join(plain, weights));
    expect(exported.names).toEqual(withoutHead.names);
  });

  it("is read again as a model, and as an adapter", async () => {
    const model = await trained({ trainable: { type: "full" }, valueHead: true });
    const target = path.join(folder, "read again");
    await model.export(target, "huggingface");
    const again = await backend.openModel({
      source: { type: "pretrained", path: target },
      trainable: { type: "frozen" },
    });
    const outputs = { outputs: ["logprobs"] } as const;
    expect(await again.forward(data, outputs)).toEqual(await model.forward(data, outputs));

    const adapted = await trained({ trainable: { type: "lora", lora }, valueHead: true });
    const adapter = path.join(folder, "adapter read again");
    await adapted.export(adapter, "peft");
    expect((await readPeftAdapter(adapter)).config.rank).toBe(2);
  });
});
