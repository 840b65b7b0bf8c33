import { join } from "node:path";
import { beforeAll, describe, expect, inject, test } from "vitest";
import { createRandom } from "../../src/core/random/random.ts";
import type { LossTerm } from "../../trainers/backend/loss-term.ts";
import type { Model, TrainableSpec, TrainingBackend } from "../../trainers/backend/training-backend.ts";
import { createOnnxBackend } from "../../trainers/backends/onnx/index.ts";
import { type InspectedArray, readGradients, setParameters } from "../../trainers/backends/onnx/inspect.ts";
import { readPeftAdapter } from "../../trainers/model-folders/weights/peft-adapter.ts";
import { adapterTargets, type TinyCheckpoint, tinyCheckpoints, tinyVocabularySize } from "./checkpoints.ts";
import { expectGradients, gradientTolerance } from "./compare.ts";
import { gradientReference, makeAdapters, temporaryFolder } from "./reference.ts";
import { makeData, randomIds, toDatum, withReturns } from "./sequences.ts";

const { checkpoints, quick } = inject("interop");

const losses: readonly { readonly name: string; readonly terms: readonly LossTerm[] }[] = [
  { name: "the value loss", terms: [{ type: "value" }] },
  {
    name: "the clipped value loss with a policy's",
    terms: [{ type: "policyGradient" }, { type: "value", clip: 0.2, weight: 0.7 }, { type: "entropy", weight: 0.1 }],
  },
];
const adapter = { rank: 4, alpha: 10 };

const cases = tinyCheckpoints(quick).flatMap(({ name }) =>
  (["full", "lora"] as const).flatMap((kind) => losses.map((loss) => ({ checkpoint: name, kind, ...loss }))),
);
const ids = randomIds({ lengths: [2, 9, 33, 90], vocabularySize: tinyVocabularySize, seed: 21 });
const data = withReturns(
  [...makeData({ sequences: ids, seed: 22 }), ...makeData({ sequences: ids.slice(1, 3), seed: 23, temperature: 0.7 })],
  24,
);

let adapters: Awaited<ReturnType<typeof temporaryFolder>>;
let references: Awaited<ReturnType<typeof gradientReference>>;
let backend: TrainingBackend;

beforeAll(async () => {
  adapters = await temporaryFolder();
  const tiny = tinyCheckpoints(quick);
  await makeAdapters(
    tiny.map((checkpoint, seed) => ({
      ...adapter,
      targets: adapterTargets(checkpoint).some,
      checkpoint: join(checkpoints, checkpoint.name),
      folder: join(adapters.path, checkpoint.name),
      seed,
    })),
  );
  references = await gradientReference(
    cases.map(({ checkpoint, kind, terms }) => ({
      checkpoint: join(checkpoints, checkpoint),
      ...(kind === "lora" ? { adapter: join(adapters.path, checkpoint) } : {}),
      valueHead: headOf(checkpoint),
      data,
      terms,
    })),
  );
  backend = await createOnnxBackend({ device: "cpu" });
  return async () => {
    await backend.close();
    await adapters[Symbol.asyncDispose]();
  };
});

describe.each(cases.map((entry, index) => ({ ...entry, index })))("$checkpoint, $kind", (entry) => {
  test(`has PyTorch's gradients of ${entry.name}, of the head and of the layers below it`, async () => {
    const reference = references[entry.index]!;
    const model = await openWithHead(entry);
    const first = await model.forwardBackward(data.slice(0, 3).map(toDatum), entry.terms);
    const second = await model.forwardBackward(data.slice(3).map(toDatum), entry.terms);
    for (const [term, expected] of reference.terms.entries()) {
      const difference = Math.abs(first.terms[term]! + second.terms[term]! - expected);
      expect(difference).toBeLessThanOrEqual(gradientTolerance * Math.max(1, Math.abs(expected)));
    }
    const found = await readGradients(model);
    expect(found.has("value_head.weight") && found.has("value_head.bias")).toBe(true);
    expectGradients(found, reference.gradients);
    await model.close();
  });
});

function findCheckpoint(checkpoint: string): TinyCheckpoint {
  return tinyCheckpoints(quick).find(({ name }) => name === checkpoint)!;
}

/** A value head that is not zero, unlike a new one. */
function headOf(checkpoint: string): { readonly weight: readonly number[]; readonly bias: number } {
  const { config } = findCheckpoint(checkpoint);
  const random = createRandom(25);
  const weight = Array.from({ length: (config.hidden_size ?? config.n_embd) as number }, () =>
    Math.fround(0.1 * random.normal()),
  );
  return { weight, bias: 0.25 };
}

/** The checkpoint, or peft's adapter on it, with PyTorch's head. */
async function openWithHead({ checkpoint, kind }: (typeof cases)[number]): Promise<Model> {
  const { weight, bias } = headOf(checkpoint);
  const parameters = new Map<string, InspectedArray>([
    ["value_head.weight", { shape: [1, weight.length], data: Float32Array.from(weight) }],
    ["value_head.bias", { shape: [1], data: Float32Array.of(bias) }],
  ]);
  let trainable: TrainableSpec = { type: "full" };
  if (kind === "lora") {
    const { tensors } = await readPeftAdapter(join(adapters.path, checkpoint));
    for (const [name, tensor] of tensors) parameters.set(name, tensor);
    trainable = { type: "lora", lora: { ...adapter, targets: adapterTargets(findCheckpoint(checkpoint)).some } };
  }
  const source = { type: "pretrained", path: join(checkpoints, checkpoint) } as const;
  const model = await backend.openModel({ source, trainable, valueHead: true });
  await setParameters(model, parameters);
  return model;
}
