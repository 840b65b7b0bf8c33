import { join } from "node:path";
import { beforeAll, describe, expect, inject, test } from "vitest";
import type { TrainingBackend } from "../../trainers/backend/training-backend.ts";
import { createOnnxBackend } from "../../trainers/backends/onnx/index.ts";
import { readLogits } from "../../trainers/backends/onnx/inspect.ts";
import { tinyCheckpoints, tinyVocabularySize } from "./checkpoints.ts";
import { largestDifference, logitTolerance, logprobTolerance } from "./compare.ts";
import { type ForwardReference, forwardReference } from "./reference.ts";
import { makeData, randomIds, toDatum } from "./sequences.ts";

const { checkpoints, quick } = inject("interop");
const tiny = tinyCheckpoints(quick);
const folders = tiny.map(({ name }) => ({ name, checkpoint: join(checkpoints, name) }));
/** Lengths of one token and more, also beyond the original context of the scaled Llama 3 checkpoints. */
const ids = randomIds({ lengths: [1, 2, 17, 200], vocabularySize: tinyVocabularySize, seed: 5 });
const data = [
  ...makeData({ sequences: ids.slice(1), seed: 6 }),
  ...makeData({ sequences: ids.slice(2), seed: 7, temperature: 0.7 }),
];

let references: Map<string, ForwardReference>;
let backend: TrainingBackend;

beforeAll(async () => {
  const results = await forwardReference(folders.map(({ checkpoint }) => ({ checkpoint, ids, data })));
  references = new Map(folders.map(({ name }, index) => [name, results[index]!]));
  backend = await createOnnxBackend({ device: "cpu" });
  return () => backend.close();
});

describe.each(folders)("$name", ({ name, checkpoint }) => {
  test("has the logits of transformers", async () => {
    const model = await backend.openModel({
      source: { type: "pretrained", path: checkpoint },
      trainable: { type: "frozen" },
    });
    for (const [index, sequence] of ids.entries()) {
      const difference = largestDifference(await readLogits(model, sequence), references.get(name)!.logits[index]!);
      expect(difference).toBeLessThanOrEqual(logitTolerance);
    }
    await model.close();
  });

  test("has the log-probabilities and entropies of transformers, over mixed lengths and temperatures", async () => {
    const model = await backend.openModel({
      source: { type: "pretrained", path: checkpoint },
      trainable: { type: "frozen" },
    });
    const results = await model.forward(data.map(toDatum), { outputs: ["logprobs", "entropy"] });
    const reference = references.get(name)!;
    for (const [index, { lossMask }] of data.entries()) {
      const counted = (values: readonly number[]): number[] =>
        values.map((value, i) => (lossMask[i] === 0 ? 0 : value));
      const { logprobs, entropy } = results[index]!;
      expect(largestDifference(logprobs!, counted(reference.logprobs[index]!))).toBeLessThanOrEqual(logprobTolerance);
      expect(largestDifference(entropy!, counted(reference.entropy[index]!))).toBeLessThanOrEqual(logprobTolerance);
    }
    await model.close();
  });
});
