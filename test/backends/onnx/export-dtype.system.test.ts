import { readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { datumFromIds } from "../../../trainers/backend/datum.ts";
import type { Model, TrainableSpec, TrainingBackend } from "../../../trainers/backend/training-backend.ts";
import { createOnnxBackend } from "../../../trainers/backends/onnx/index.ts";
import { readLogits } from "../../../trainers/backends/onnx/inspect.ts";
import { encodeFloats } from "../../../trainers/model-folders/weights/float-conversion.ts";
import { modelChecksumsFile } from "../../../trainers/model-folders/weights/model-checksums.ts";
import { openWeights } from "../../../trainers/model-folders/weights/safetensors.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { tinyConfig } from "./tiny-config.ts";

const ids = [60, 61, 62, 63, 64];
const lora: TrainableSpec = { type: "lora", lora: { rank: 2, alpha: 4, seed: 1 } };
const full: TrainableSpec = { type: "full" };

let backend: TrainingBackend;
let folder: string;
const at = (name: string): string => path.join(folder, name);

beforeAll(async () => {
  folder = temporaryFolder();
  backend = await createOnnxBackend({ device: "cpu", threads: 1 });
  await using model = disposable(
    await backend.openModel({ source: { type: "scratch", config: tinyConfig, seed: 3 }, trainable: full }),
  );
  for (const dtype of ["float32", "float16", "bfloat16"] as const) {
    await model.export(at(dtype), "huggingface", { dtype });
    await rm(path.join(at(dtype), modelChecksumsFile));
  }
});
afterAll(async () => {
  await backend.close();
});

function disposable(model: Model): Model & AsyncDisposable {
  return Object.assign(model, { [Symbol.asyncDispose]: () => model.close() });
}

async function trained(base: string, trainable: TrainableSpec): Promise<Model & AsyncDisposable> {
  const model = await backend.openModel({ source: { type: "pretrained", path: at(base) }, trainable });
  const adam = { learningRate: 0.01, beta1: 0.9, beta2: 0.9, epsilon: 1e-8, weightDecay: 0 };
  await model.forwardBackward([datumFromIds({ ids, mask: ids.map(() => 1) })], [{ type: "crossEntropy", weight: 1 }]);
  await model.optimStep(adam, { stepId: 0 });
  return disposable(model);
}

const configOf = async (name: string): Promise<Record<string, unknown>> =>
  JSON.parse(await readFile(path.join(at(name), "config.json"), "utf8")) as Record<string, unknown>;

async function tensorsOf(name: string): Promise<Map<string, { dtype: string; data: Float32Array }>> {
  await using reader = await openWeights(at(name));
  const all = new Map<string, { dtype: string; data: Float32Array }>();
  for (const tensor of reader.names) {
    all.set(tensor, { dtype: reader.info(tensor).dtype, data: await reader.read(tensor) });
  }
  return all;
}

const written = { float32: "F32", float16: "F16", bfloat16: "BF16" } as const;

it.each([
  ["bfloat16", lora],
  ["float16", lora],
  ["bfloat16", full],
  ["float32", lora],
] as const)("a %s base gives a whole model of that type, rounded once: %o", async (dtype, trainable) => {
  const name = `${dtype}-${trainable.type}`;
  await using model = await trained(dtype, trainable);
  await model.export(at(name), "huggingface");
  await model.export(at(`${name}-exact`), "huggingface", { dtype: "float32" });
  const [own, exact] = [await tensorsOf(name), await tensorsOf(`${name}-exact`)];
  expect(new Set([...own.values()].map((tensor) => tensor.dtype))).toEqual(new Set([written[dtype]]));
  expect(await configOf(name)).toMatchObject({ dtype });
  expect(await configOf(`${name}-exact`)).toMatchObject({ dtype: "float32" });
  for (const [tensor, { data }] of own) {
    expect(encodeFloats(written[dtype], data)).toEqual(encodeFloats(written[dtype], exact.get(tensor)!.data));
  }
  const differ = [...own].some(([tensor, { data }]) => data.some((x, i) => x !== exact.get(tensor)!.data[i]));
  expect(differ).toBe(dtype !== "float32");
});

it("keeps the older key of the config, and both if both are present", async () => {
  for (const [name, keys] of [
    ["older", { torch_dtype: "bfloat16" }],
    ["both", { torch_dtype: "bfloat16", dtype: "bfloat16" }],
  ] as const) {
    const { dtype: _, ...config } = await configOf("bfloat16");
    await writeFile(path.join(at("bfloat16"), "config.json"), JSON.stringify({ ...config, ...keys }));
    await using model = await trained("bfloat16", lora);
    await model.export(at(name), "huggingface");
    await model.export(at(`${name}-exact`), "huggingface", { dtype: "float32" });
    const found = Object.entries(await configOf(name)).filter(([key]) => key.endsWith("dtype"));
    expect(Object.fromEntries(found)).toEqual(keys);
    const exact = Object.entries(await configOf(`${name}-exact`)).filter(([key]) => key.endsWith("dtype"));
    expect(new Set(exact.map(([, value]) => value))).toEqual(new Set(["float32"]));
  }
});

it("loses no precision of an adapter's base: a merged base has no files of its own and is written in float32", async () => {
  await using first = await trained("bfloat16", lora);
  await first.export(at("first"), "peft");
  await using second = await trained("first", { ...lora, start: "merge" });
  await second.export(at("second"), "peft");
  expect(new Set([...(await tensorsOf("second/base")).values()].map(({ dtype }) => dtype))).toEqual(new Set(["F32"]));
  const source = { type: "pretrained", path: at("second") } as const;
  await using again = disposable(await backend.openModel({ source, trainable: { type: "frozen" } }));
  expect(await readLogits(again, ids)).toEqual(await readLogits(second, ids));
});
