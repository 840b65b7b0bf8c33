import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import type { Model, TrainableSpec, TrainingBackend } from "../../trainers/backend/training-backend.ts";
import { createOnnxBackend } from "../../trainers/backends/onnx/index.ts";
import { readLogits } from "../../trainers/backends/onnx/inspect.ts";
import { tinyCheckpoints, tinyVocabularySize } from "./checkpoints.ts";
import { largestDifference, logitTolerance } from "./compare.ts";
import { forwardReference, loadedTypes, type ModelFolders, temporaryFolder } from "./reference.ts";
import { makeData, randomIds, toDatum } from "./sequences.ts";

const { checkpoints, quick } = inject("interop");
const tiny = tinyCheckpoints(quick);

const ids = randomIds({ lengths: [3, 70], vocabularySize: tinyVocabularySize, seed: 14 });
const data = makeData({ sequences: ids, seed: 15 }).map(toDatum);
const adam = { learningRate: 0.01, beta1: 0.9, beta2: 0.99, epsilon: 1e-8, weightDecay: 0 };
const lora: TrainableSpec = { type: "lora", lora: { rank: 3, alpha: 7, seed: 1 } };

/** Each checkpoint trained for two steps, fully and by LoRA, and exported. An adapter is also merged into its model. */
const cases = tiny.flatMap(({ name }) => [
  { name, format: "huggingface" as const, trainable: { type: "full" } as TrainableSpec },
  { name, format: "peft" as const, trainable: lora },
  { name, format: "huggingface" as const, trainable: lora },
]);

let exports: Awaited<ReturnType<typeof temporaryFolder>>;
let backend: TrainingBackend;
const own: Float32Array[][] = [];
let theirs: readonly (readonly Float32Array[])[];

function folderOf(index: number): string {
  return join(exports.path, String(index));
}

beforeAll(async () => {
  exports = await temporaryFolder();
  backend = await createOnnxBackend({ device: "cpu" });
  const folders: ModelFolders[] = [];
  for (const [index, { name, format, trainable }] of cases.entries()) {
    const checkpoint = join(checkpoints, name);
    const model = await backend.openModel({ source: { type: "pretrained", path: checkpoint }, trainable });
    await train(model);
    await model.export(folderOf(index), format, { dtype: "float32" });
    own.push(await Promise.all(ids.map((sequence) => readLogits(model, sequence))));
    await model.close();
    const folder = folderOf(index);
    folders.push(format === "peft" ? { checkpoint, adapter: folder } : { checkpoint: folder });
  }
  theirs = (await forwardReference(folders.map((folder) => ({ ...folder, ids })))).map(({ logits }) => logits);
});

afterAll(async () => {
  await backend?.close();
  await exports?.[Symbol.asyncDispose]();
});

async function train(model: Model): Promise<void> {
  for (const stepId of [0, 1]) {
    await model.forwardBackward(data, [{ type: "crossEntropy", weight: 0.01 }]);
    await model.optimStep(adam, { stepId });
  }
}

describe.each(cases.map((entry, index) => ({ ...entry, index })))("$name, $trainable.type, as $format", ({
  name,
  index,
}) => {
  test("loads with the same logits, which training has changed", async () => {
    for (const [sequence, logits] of own[index]!.entries()) {
      expect(largestDifference(logits, theirs[index]![sequence]!)).toBeLessThanOrEqual(logitTolerance);
    }
    const model = await backend.openModel({
      source: { type: "pretrained", path: join(checkpoints, name) },
      trainable: { type: "frozen" },
    });
    expect(largestDifference(await readLogits(model, ids[1]!), own[index]![1]!)).toBeGreaterThan(0.01);
    await model.close();
  });
});

test("a merged model has the type of its base, and PyTorch's rounding", async () => {
  const typed = tiny.filter(({ dtype }) => dtype !== "float32");
  const folders = typed.map(({ name }) => join(exports.path, `${name}-own-type`));
  for (const [place, { name }] of typed.entries()) {
    const source = { type: "pretrained", path: join(checkpoints, name) } as const;
    const model = await backend.openModel({ source, trainable: lora });
    await train(model);
    await model.export(folders[place]!, "huggingface");
    await model.export(`${folders[place]!}-float32`, "huggingface", { dtype: "float32" });
    await model.close();
  }
  const found = await loadedTypes(folders.map((folder) => ({ folder, exact: `${folder}-float32` })));
  expect(found.map(({ dtype }) => dtype)).toEqual(typed.map(({ dtype }) => dtype));
  expect(new Set(found.map(({ equal }) => equal))).toEqual(new Set([true]));
});

test.each(
  cases.flatMap(({ name, format }, index) => (format === "huggingface" ? [{ name, index }] : [])),
)("$name keeps its tokenizer and template", async ({ name, index }) => {
  for (const file of ["tokenizer.json", "tokenizer_config.json", "chat_template.jinja"]) {
    const [original, exported] = await Promise.all(
      [join(checkpoints, name), folderOf(index)].map((folder) => readFile(join(folder, file), "utf8")),
    );
    expect(exported).toBe(original);
  }
});
