import { join } from "node:path";
import { beforeAll, describe, expect, inject, test } from "vitest";
import type { Model, TrainingBackend } from "../../trainers/backend/training-backend.ts";
import { dropoutFeeds, dropoutSeeds } from "../../trainers/backends/onnx/engine/dropout-masks.ts";
import { createOnnxBackend } from "../../trainers/backends/onnx/index.ts";
import { readGradients, readLogits, setParameters } from "../../trainers/backends/onnx/inspect.ts";
import { ParameterBlock } from "../../trainers/backends/onnx/models/parameter-block.ts";
import { readPeftAdapter } from "../../trainers/model-folders/weights/peft-adapter.ts";
import { adapterTargets, tinyCheckpoints, tinyVocabularySize } from "./checkpoints.ts";
import { expectGradients, largestDifference, logitTolerance } from "./compare.ts";
import {
  type FixedDropout,
  type ForwardReference,
  forwardReference,
  gradientReference,
  type ModelFolders,
  makeAdapters,
  temporaryFolder,
} from "./reference.ts";
import { makeData, randomIds, toDatum } from "./sequences.ts";

const { checkpoints, quick } = inject("interop");
const tiny = tinyCheckpoints(quick);

const shapes = [
  { rank: 4, alpha: 10, layers: "all" },
  { rank: 6, alpha: 3, layers: "some" },
] as const;
/** Two adapters over every checkpoint. The quick run takes them in turns. */
const cases = tiny.flatMap((checkpoint, index) =>
  shapes
    .filter((_, place) => !quick || place === index % 2)
    .map(({ layers, ...shape }) => ({
      ...shape,
      targets: adapterTargets(checkpoint)[layers],
      name: `${checkpoint.name}-rank-${shape.rank}`,
      checkpoint: join(checkpoints, checkpoint.name),
    })),
);
const ids = randomIds({ lengths: [1, 30, 90], vocabularySize: tinyVocabularySize, seed: 12 });
const data = makeData({ sequences: ids.slice(1), seed: 13 });
const terms = [{ type: "crossEntropy" }, { type: "policyGradient", weight: 0.5 }] as const;
/** peft applies dropout only in training, so the adapters with this rate serve the other tests as well. */
const dropout = 0.3;
/** The loss for training with dropout. */
const imitation = [{ type: "crossEntropy" }] as const;
const seed = 5;

let adapters: Awaited<ReturnType<typeof temporaryFolder>>;
let forward: ForwardReference[];
let backward: Awaited<ReturnType<typeof gradientReference>>;
let dropped: Awaited<ReturnType<typeof gradientReference>>;
let backend: TrainingBackend;

beforeAll(async () => {
  adapters = await temporaryFolder();
  await makeAdapters(
    cases.map(({ name, ...adapter }, index) => ({
      ...adapter,
      dropout,
      folder: join(adapters.path, name),
      seed: index,
    })),
  );
  const folders = cases.map(
    ({ name, checkpoint }): ModelFolders => ({ checkpoint, adapter: join(adapters.path, name) }),
  );
  forward = await forwardReference(folders.map((folder) => ({ ...folder, ids })));
  backward = await gradientReference(folders.map((folder) => ({ ...folder, data, terms })));
  dropped = await gradientReference(
    await Promise.all(
      folders.map(async (folder) => ({ ...folder, data, terms: imitation, dropout: await masksOf(folder.adapter!) })),
    ),
  );
  backend = await createOnnxBackend({ device: "cpu" });
  return async () => {
    await backend.close();
    await adapters[Symbol.asyncDispose]();
  };
});

/** The masks of the first pass over the data, as the engine draws them. */
async function masksOf(adapter: string): Promise<FixedDropout> {
  const { tensors } = await readPeftAdapter(adapter);
  const block = new ParameterBlock([...tensors].map(([name, { shape }]) => ({ name, shape, initial: "zeros" })));
  const seeds = dropoutSeeds(data.map(toDatum), { seed, step: 0, seen: new Map() });
  const masks: Record<string, number[][][]> = {};
  for (const [i, { tokens }] of data.entries()) {
    const feeds = dropoutFeeds({ block, rate: dropout, sequences: [{ tokens: tokens.length, seed: seeds[i]! }] });
    for (const [name, { data: words, shape }] of Object.entries(feeds)) {
      const module = name.replace(/\.lora_dropout$/, "");
      const inputs = tensors.get(`${module}.lora_A.weight`)!.shape[1]!;
      const bit = (row: number, input: number): number =>
        (Number(words[row * shape[1]! + (input >> 5)]!) >>> (input & 31)) & 1;
      masks[module] ??= [];
      masks[module].push(tokens.map((_, row) => Array.from({ length: inputs }, (__, input) => bit(row, input))));
    }
  }
  return { rate: dropout, masks };
}

describe.each(cases.map((entry, index) => ({ ...entry, index })))("$name", ({ name, index, checkpoint }) => {
  /** The base with the adapter that peft wrote. */
  async function openAdapted(): Promise<Model> {
    const { config, tensors } = await readPeftAdapter(join(adapters.path, name));
    const { rank, alpha } = config;
    const { targets } = cases[index]!;
    const model = await backend.openModel({
      source: { type: "pretrained", path: checkpoint },
      trainable: { type: "lora", lora: { rank, alpha, targets, dropout, seed } },
    });
    await setParameters(model, tensors);
    return model;
  }

  test("has the logits of peft", async () => {
    const model = await openAdapted();
    for (const [sequence, expected] of forward[index]!.logits.entries()) {
      const difference = largestDifference(await readLogits(model, ids[sequence]!), expected);
      expect(difference).toBeLessThanOrEqual(logitTolerance);
    }
    await model.close();
  });

  test("is opened by its adapter folder, and continues", async () => {
    const source = { type: "pretrained", path: join(adapters.path, name) } as const;
    for (const trainable of [{ type: "frozen" }, { type: "lora", lora: {} }] as const) {
      const model = await backend.openModel({ source, trainable });
      for (const [sequence, expected] of forward[index]!.logits.entries()) {
        const difference = largestDifference(await readLogits(model, ids[sequence]!), expected);
        expect(difference).toBeLessThanOrEqual(logitTolerance);
      }
      await model.close();
    }
  });

  test("has PyTorch's gradients of both halves", async () => {
    const model = await openAdapted();
    await model.forwardBackward(data.map(toDatum), terms);
    expectGradients(await readGradients(model), backward[index]!.gradients);
    await model.close();
  });

  test("has PyTorch's gradients of both halves with dropout, under the same masks", async () => {
    const model = await openAdapted();
    const { terms: sums } = await model.forwardBackward(data.map(toDatum), imitation);
    expect(Math.abs(sums[0]! / dropped[index]!.terms[0]! - 1)).toBeLessThan(1e-4);
    expectGradients(await readGradients(model), dropped[index]!.gradients);
    await model.close();
  });
});
