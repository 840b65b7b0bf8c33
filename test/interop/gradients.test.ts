import { join } from "node:path";
import { beforeAll, describe, expect, inject, test } from "vitest";
import type { LossTerm } from "../../trainers/backend/loss-term.ts";
import type { TrainingBackend } from "../../trainers/backend/training-backend.ts";
import { createOnnxBackend } from "../../trainers/backends/onnx/index.ts";
import { readGradients } from "../../trainers/backends/onnx/inspect.ts";
import { tinyCheckpoints, tinyVocabularySize } from "./checkpoints.ts";
import { expectGradients, gradientTolerance } from "./compare.ts";
import { forwardReference, gradientReference } from "./reference.ts";
import { makeData, type PlainDatum, randomIds, toDatum, withOldLogprobs, withSupports } from "./sequences.ts";

const { checkpoints, quick } = inject("interop");
const tiny = tinyCheckpoints(quick);

/** Each loss term at least once. The terms of one entry are summed in one step. */
const losses: readonly { readonly name: string; readonly terms: readonly LossTerm[] }[] = [
  { name: "cross-entropy", terms: [{ type: "crossEntropy" }] },
  {
    name: "policy gradient with KL",
    terms: [{ type: "policyGradient" }, { type: "kl", estimator: "k3", weight: 0.3 }],
  },
  {
    name: "PPO with KL and entropy",
    terms: [
      { type: "ppo", clipLow: 0.2, clipHigh: 0.2 },
      { type: "kl", estimator: "k2", weight: 0.5 },
      { type: "entropy", weight: 0.1 },
    ],
  },
  {
    name: "importance sampling with KL",
    terms: [{ type: "importanceSampling" }, { type: "kl", estimator: "k1", weight: 0.2 }],
  },
];

const cases = tiny.flatMap(({ name }) =>
  losses.map((loss) => ({ checkpoint: name, folder: join(checkpoints, name), ...loss })),
);
const ids = randomIds({ lengths: [2, 9, 33, 120], vocabularySize: tinyVocabularySize, seed: 8 });
const plainData = [
  ...makeData({ sequences: ids, seed: 9 }),
  ...withSupports(makeData({ sequences: ids.slice(1, 3), seed: 10, temperature: 0.7 }), {
    vocabularySize: tinyVocabularySize,
    seed: 11,
  }),
];

let data: Map<string, PlainDatum[]>;
let references: Awaited<ReturnType<typeof gradientReference>>;
let backend: TrainingBackend;

beforeAll(async () => {
  const folders = tiny.map(({ name }) => ({ name, checkpoint: join(checkpoints, name) }));
  const current = await forwardReference(folders.map(({ checkpoint }) => ({ checkpoint, data: plainData })));
  data = new Map(
    folders.map(({ name }, index) => [name, withOldLogprobs(plainData, current[index]!.logprobs, 100 + index)]),
  );
  references = await gradientReference(
    cases.map(({ checkpoint, folder, terms }) => ({ checkpoint: folder, data: data.get(checkpoint)!, terms })),
  );
  backend = await createOnnxBackend({ device: "cpu" });
  return () => backend.close();
});

describe.each(tiny.map(({ name }) => name))("%s", (checkpoint) => {
  test.each(losses)("has PyTorch's gradients of $name, over two accumulated batches", async ({ name, terms }) => {
    const index = cases.findIndex((entry) => entry.checkpoint === checkpoint && entry.name === name);
    const reference = references[index]!;
    const model = await backend.openModel({
      source: { type: "pretrained", path: cases[index]!.folder },
      trainable: { type: "full" },
    });
    const batch = data.get(checkpoint)!.map(toDatum);
    const first = await model.forwardBackward(batch.slice(0, 3), terms);
    const second = await model.forwardBackward(batch.slice(3), terms);
    for (const [term, expected] of reference.terms.entries()) {
      const difference = Math.abs(first.terms[term]! + second.terms[term]! - expected);
      expect(difference).toBeLessThanOrEqual(gradientTolerance * Math.max(1, Math.abs(expected)));
    }
    expectGradients(await readGradients(model), reference.gradients);
    await model.close();
  });
});
