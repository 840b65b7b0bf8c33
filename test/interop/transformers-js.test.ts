import { join } from "node:path";
import { beforeAll, describe, expect, inject, test } from "vitest";
import { textMessage } from "../../src/contract/message.ts";
import { defaultSampling, type Sample, type Sampler } from "../../src/contract/sampler.ts";
import { type TransformersLibrary, transformersPolicy } from "../../src/core/policy/transformers-js/index.ts";
import { transformersSampler } from "../../src/core/policy/transformers-js/transformers-sampler.ts";
import { loadTokenizer } from "../../src/core/tokens/huggingface-tokenizer.ts";
import { tinyVocabularySize } from "./checkpoints.ts";
import { largestDifference, logprobTolerance } from "./compare.ts";
import { expectGreedy } from "./greedy.ts";
import { runPython } from "./python.ts";
import { forwardReference, greedyReference, temporaryFolder } from "./reference.ts";
import { makeData, randomIds } from "./sequences.ts";
import { provideServingPackages, provideTransformersLibrary } from "./serving-packages.ts";

const { checkpoints, environment } = inject("interop");

const names = ["llama-llama3-rope", "qwen2-tied-f16"];
const prompts = randomIds({ lengths: [1, 5, 40], vocabularySize: tinyVocabularySize, seed: 26 });
const tokens = 24;
const temperature = 0.8;

let library: TransformersLibrary;
let exported: (name: string) => string;

beforeAll(async () => {
  const folder = await temporaryFolder();
  exported = (name) => join(folder.path, name);
  library = await provideTransformersLibrary(environment);
  await runPython({
    environment,
    packages: await provideServingPackages(environment),
    script: "export_onnx",
    request: { checkpoints: names.map((name) => ({ checkpoint: join(checkpoints, name), folder: exported(name) })) },
  });
  return () => folder[Symbol.asyncDispose]();
});

async function openSampler(name: string): Promise<Sampler> {
  const folder = exported(name);
  const options = { dtype: "fp32", device: "cpu", local_files_only: true } as const;
  const model = await library.AutoModelForCausalLM.from_pretrained(folder, options);
  return transformersSampler({ library, model, tokenizer: await loadTokenizer(folder), maxLength: 512 });
}

function sampleAll(sampler: Sampler, at: number): Promise<Sample[]> {
  const settings = { temperature: at, maxTokens: tokens };
  return Array.fromAsync(
    sampler.sample(prompts.map((promptIds, seed) => ({ promptIds, settings, seed, stopTokenIds: [] }))),
  );
}

describe.each(names)("%s by transformers.js", (name) => {
  test("is continued greedily like by transformers", async () => {
    const [reference] = await greedyReference([{ checkpoint: join(checkpoints, name), prompts, tokens }]);
    const sampler = await openSampler(name);
    const samples = await sampleAll(sampler, 0);
    await sampler.close();
    for (const [request, expected] of reference!.entries()) expectGreedy(samples[request]!.ids, expected);
  });

  test("returns transformers' log-probabilities of its samples, and samples the same again", async () => {
    const sampler = await openSampler(name);
    const samples = await sampleAll(sampler, temperature);
    expect(await sampleAll(sampler, temperature)).toEqual(samples);
    await sampler.close();
    const sequences = prompts.map((prompt, request) => [...prompt, ...samples[request]!.ids]);
    const checkpoint = join(checkpoints, name);
    const [reference] = await forwardReference([{ checkpoint, data: makeData({ sequences, seed: 27, temperature }) }]);
    for (const [request, { ids, logprobs }] of samples.entries()) {
      const expected = reference!.logprobs[request]!.slice(-ids.length);
      expect(largestDifference(Float32Array.from(logprobs), Float32Array.from(expected))).toBeLessThanOrEqual(
        logprobTolerance,
      );
    }
  });
});

test("a policy of a folder returns tokens, within its length, and the same for the same seed", async () => {
  const policy = await transformersPolicy({ model: exported(names[0]!), library });
  const act = (seed: number) =>
    policy.act({
      agent: "agent",
      messages: [textMessage("user", "What is 2 + 2?")],
      sampling: { ...defaultSampling, maxTokens: 8 },
      seed,
    });
  const [first, again, other] = [await act(1), await act(1), await act(2)];
  await policy.close!();
  expect(first.tokens!.completionIds.length).toBeLessThanOrEqual(8);
  expect(again).toEqual(first);
  expect(other.tokens!.completionIds).not.toEqual(first.tokens!.completionIds);
});

test("a precision that a folder lacks is rejected, with the available ones", async () => {
  await expect(transformersPolicy({ model: exported(names[0]!), dtype: "q4", library })).rejects.toMatchObject({
    code: "model.missing",
    hint: expect.stringContaining("fp32"),
  });
});
