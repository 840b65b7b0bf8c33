import { join } from "node:path";
import { beforeAll, describe, expect, inject, test } from "vitest";
import type { TrainingBackend } from "../../trainers/backend/training-backend.ts";
import { createOnnxBackend } from "../../trainers/backends/onnx/index.ts";
import { readLogits } from "../../trainers/backends/onnx/inspect.ts";
import { tinyCheckpoints, tinyVocabularySize } from "./checkpoints.ts";
import { gradientTolerance, largestDifference } from "./compare.ts";
import { type TrainingReference, trainingReference } from "./reference.ts";
import { makeData, randomIds, toDatum } from "./sequences.ts";

const { checkpoints, quick } = inject("interop");
const folders = tinyCheckpoints(quick).map(({ name }) => ({ name, checkpoint: join(checkpoints, name) }));
const ids = randomIds({ lengths: [6, 25, 60], vocabularySize: tinyVocabularySize, seed: 18 });
const data = makeData({ sequences: ids, seed: 19 });
const terms = [{ type: "crossEntropy", weight: 0.02 }] as const;
const steps = 5;
/** The norms of these gradients are above the clip norm at first. The epsilon keeps Adam from amplifying rounding. */
const adam = { learningRate: 2e-3, beta1: 0.9, beta2: 0.95, epsilon: 1e-4, weightDecay: 0.1, clipNorm: 0.5 };

let references: Map<string, TrainingReference>;
let backend: TrainingBackend;

beforeAll(async () => {
  const results = await trainingReference(
    folders.map(({ checkpoint }) => ({ checkpoint, data, terms, steps, adam, ids })),
  );
  references = new Map(folders.map(({ name }, index) => [name, results[index]!]));
  backend = await createOnnxBackend({ device: "cpu" });
  return () => backend.close();
});

describe.each(folders)("$name", ({ name, checkpoint }) => {
  test("trains like PyTorch's AdamW: losses, gradient norms, and logits at the end", async () => {
    const reference = references.get(name)!;
    const model = await backend.openModel({
      source: { type: "pretrained", path: checkpoint },
      trainable: { type: "full" },
    });
    for (let stepId = 0; stepId < steps; stepId++) {
      const { loss } = await model.forwardBackward(data.map(toDatum), terms);
      const { gradientNorm } = await model.optimStep(adam, { stepId });
      expectNear(loss, reference.losses[stepId]!);
      expectNear(gradientNorm, reference.gradientNorms[stepId]!);
    }
    expect(reference.gradientNorms[0]).toBeGreaterThan(adam.clipNorm);
    expect(reference.losses.at(-1)).toBeLessThan(0.98 * reference.losses[0]!);
    for (const [index, sequence] of ids.entries()) {
      const difference = largestDifference(await readLogits(model, sequence), reference.logits[index]!);
      // Five steps of gradients that agree to 1e-3 or better.
      expect(difference).toBeLessThanOrEqual(1e-3);
    }
    await model.close();
  });
});

function expectNear(actual: number, expected: number): void {
  expect(Math.abs(actual - expected)).toBeLessThanOrEqual(gradientTolerance * Math.abs(expected));
}
