import { join } from "node:path";
import { beforeAll, describe, expect, inject, test } from "vitest";
import type { LoraTarget, Model, TrainingBackend } from "../../trainers/backend/training-backend.ts";
import { createOnnxBackend } from "../../trainers/backends/onnx/index.ts";
import { readGradients, readLogits, setParameters } from "../../trainers/backends/onnx/inspect.ts";
import { readPeftAdapter } from "../../trainers/backends/onnx/weights/peft-adapter.ts";
import { tinyCheckpoints, tinyVocabularySize } from "./checkpoints.ts";
import { expectGradients, largestDifference, logitTolerance } from "./compare.ts";
import {
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

const everyLayer = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"] as const;
const shapes: readonly { readonly rank: number; readonly alpha: number; readonly targets: readonly LoraTarget[] }[] = [
  { rank: 4, alpha: 10, targets: everyLayer },
  { rank: 6, alpha: 3, targets: ["q_proj", "v_proj"] },
];
/** Two adapters over every checkpoint. */
const cases = tiny.flatMap((checkpoint) =>
  shapes.map((shape) => ({
    ...shape,
    name: `${checkpoint.name}-rank-${shape.rank}`,
    checkpoint: join(checkpoints, checkpoint.name),
  })),
);
const ids = randomIds({ lengths: [1, 30, 90], vocabularySize: tinyVocabularySize, seed: 12 });
const data = makeData({ sequences: ids.slice(1), seed: 13 });
const terms = [{ type: "crossEntropy" }, { type: "policyGradient", weight: 0.5 }] as const;

let adapters: Awaited<ReturnType<typeof temporaryFolder>>;
let forward: ForwardReference[];
let backward: Awaited<ReturnType<typeof gradientReference>>;
let backend: TrainingBackend;

beforeAll(async () => {
  adapters = await temporaryFolder();
  await makeAdapters(
    cases.map(({ name, ...adapter }, index) => ({ ...adapter, folder: join(adapters.path, name), seed: index })),
  );
  const folders = cases.map(
    ({ name, checkpoint }): ModelFolders => ({ checkpoint, adapter: join(adapters.path, name) }),
  );
  forward = await forwardReference(folders.map((folder) => ({ ...folder, ids })));
  backward = await gradientReference(folders.map((folder) => ({ ...folder, data, terms })));
  backend = await createOnnxBackend({ device: "cpu" });
  return async () => {
    await backend.close();
    await adapters[Symbol.asyncDispose]();
  };
});

describe.each(cases.map((entry, index) => ({ ...entry, index })))("$name", ({ name, index, checkpoint }) => {
  /** The base with the adapter that peft wrote. */
  async function openAdapted(): Promise<Model> {
    const { config, tensors } = await readPeftAdapter(join(adapters.path, name));
    const { rank, alpha, targets } = config;
    const model = await backend.openModel({
      source: { type: "pretrained", path: checkpoint },
      trainable: { type: "lora", lora: { rank, alpha, targets: targets as LoraTarget[] } },
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

  test("has PyTorch's gradients of both halves", async () => {
    const model = await openAdapted();
    await model.forwardBackward(data.map(toDatum), terms);
    expectGradients(await readGradients(model), backward[index]!.gradients);
    await model.close();
  });
});
