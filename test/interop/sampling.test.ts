import { join } from "node:path";
import { beforeAll, describe, expect, inject, test } from "vitest";
import type { Sample, SampleRequest } from "../../src/contract/sampler.ts";
import type { Model, TrainingBackend } from "../../trainers/backend/training-backend.ts";
import { createOnnxBackend } from "../../trainers/backends/onnx/index.ts";
import { tinyCheckpoints, tinyVocabularySize } from "./checkpoints.ts";
import { largestDifference, logprobTolerance } from "./compare.ts";
import { expectGreedy } from "./greedy.ts";
import { forwardReference, type GreedyReference, greedyReference } from "./reference.ts";
import { makeData, randomIds } from "./sequences.ts";

const { checkpoints, quick } = inject("interop");
const tiny = tinyCheckpoints(quick);

const folders = tiny.map(({ name }) => ({ name, checkpoint: join(checkpoints, name) }));
const tokens = 64;
/** Prompts of unequal length, decoded in one batch. With their continuations they have several cache sizes. */
const prompts = randomIds({ lengths: [1, 5, 40, 150], vocabularySize: tinyVocabularySize, seed: 16 });
const temperature = 0.8;

let greedy: Map<string, GreedyReference[]>;
let backend: TrainingBackend;
/** Samples of Lyceum at a temperature, and transformers' log-probabilities of these tokens. */
let drawn: Map<string, { readonly samples: readonly Sample[]; readonly logprobs: readonly number[][] }>;

beforeAll(async () => {
  backend = await createOnnxBackend({ device: "cpu" });
  const continuations = await greedyReference(folders.map(({ checkpoint }) => ({ checkpoint, prompts, tokens })));
  greedy = new Map(folders.map(({ name }, index) => [name, continuations[index]!]));
  const samples: Sample[][] = [];
  for (const { checkpoint } of folders) {
    samples.push(await withModel(checkpoint, (model) => sampleAll(model, temperature)));
  }
  const references = await forwardReference(
    folders.map(({ checkpoint }, index) => ({
      checkpoint,
      data: makeData({
        sequences: prompts.map((prompt, request) => [...prompt, ...samples[index]![request]!.ids]),
        seed: 17,
        temperature,
      }),
    })),
  );
  drawn = new Map(
    folders.map(({ name }, index) => [name, { samples: samples[index]!, logprobs: references[index]!.logprobs }]),
  );
  return () => backend.close();
});

async function withModel<T>(checkpoint: string, use: (model: Model) => Promise<T>): Promise<T> {
  const model = await backend.openModel({
    source: { type: "pretrained", path: checkpoint },
    trainable: { type: "frozen" },
  });
  const result = await use(model);
  await model.close();
  return result;
}

/** One completion per prompt, in the order of the prompts. */
async function sampleAll(model: Model, at: number): Promise<Sample[]> {
  const requests = prompts.map(
    (promptIds, seed): SampleRequest => ({
      promptIds,
      settings: { temperature: at, maxTokens: tokens },
      seed,
      stopTokenIds: [],
    }),
  );
  const sampler = await model.snapshot();
  const samples = await Array.fromAsync(sampler.sample(requests));
  await sampler.close();
  return samples.toSorted((a, b) => a.request - b.request);
}

describe.each(folders)("$name", ({ name, checkpoint }) => {
  test("continues greedily like transformers", async () => {
    const samples = await withModel(checkpoint, (model) => sampleAll(model, 0));
    for (const [request, reference] of greedy.get(name)!.entries()) {
      expectGreedy(samples[request]!.ids, reference);
    }
  });

  test("samples with the log-probabilities of transformers", () => {
    const { samples, logprobs } = drawn.get(name)!;
    for (const [request, sample] of samples.entries()) {
      expect(sample.ids).toHaveLength(tokens);
      expect(largestDifference(sample.logprobs, logprobs[request]!.slice(-tokens))).toBeLessThanOrEqual(
        logprobTolerance / temperature,
      );
    }
  });
});
