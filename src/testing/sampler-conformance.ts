import assert from "node:assert/strict";
import type { Sample, SampledToken, SampleOptions, SampleRequest, Sampler } from "../contract/sampler.ts";
import { assertSameSamples } from "../core/assert-same-samples.ts";
import { type ConformanceCase, conformanceCases } from "../core/conformance-case.ts";

/** The largest difference of two log-probabilities that rounding explains. */
const rounding = 1e-3;

/** A sampler under test. */
export interface SamplerSubject {
  readonly sampler: Sampler;
  /** A prompt in the sampler's vocabulary. */
  readonly promptIds: readonly number[];
  /** The ids that end a completion. */
  readonly stopTokenIds: readonly number[];
  /** The number of ids of the vocabulary. */
  readonly vocabularySize: number;
}

/**
 * The conformance suite of a sampler. `open` returns a new sampler, which the suite closes.
 *
 * @example
 * import { samplerConformance } from "lyceum/testing";
 * import { createOnnxBackend } from "lyceum/onnx";
 * const cases = samplerConformance(async () => {
 *   const backend = await createOnnxBackend();
 *   const model = await backend.openModel({
 *     source: { type: "pretrained", path: "my-model" },
 *     trainable: { type: "frozen" },
 *   });
 *   const { renderer, tokenizer } = model;
 *   return {
 *     sampler: await model.snapshot(),
 *     promptIds: tokenizer.encode("What is 2 + 2?"),
 *     stopTokenIds: renderer.stopTokenIds,
 *     vocabularySize: tokenizer.vocabularySize,
 *   };
 * });
 * // in a test file: for (const { name, run } of cases) test(name, run)
 */
export function samplerConformance(open: () => SamplerSubject | Promise<SamplerSubject>): ConformanceCase[] {
  const opened = async () => {
    const subject = await open();
    const { promptIds, stopTokenIds } = subject;
    const request = (seed: number): SampleRequest => ({
      promptIds,
      settings: { temperature: 1, maxTokens: 8 },
      seed,
      stopTokenIds,
    });
    return { ...subject, request, [Symbol.asyncDispose]: () => subject.sampler.close() };
  };
  return conformanceCases(opened, {
    "has a specification version and a version of its weights": ({ sampler }) => {
      assert.equal(sampler.specificationVersion, "v1");
      assert.ok(Number.isSafeInteger(sampler.version), `version is ${sampler.version}`);
    },
    "yields one sample for each request, within its limits": async (subject) => {
      const { sampler, request, vocabularySize, stopTokenIds } = subject;
      const samples = await sampleAll(sampler, [request(1), request(2), request(3)]);
      assert.deepEqual(
        samples.map((sample) => sample.request),
        [0, 1, 2],
      );
      for (const { ids, logprobs, finish } of samples) {
        assert.equal(logprobs.length, ids.length);
        assert.ok(ids.length > 0 && ids.length <= 8, `a completion has ${ids.length} ids, and maxTokens is 8`);
        assert.ok(
          ids.every((id) => Number.isInteger(id) && id >= 0 && id < vocabularySize),
          `ids are ${ids.join(", ")}`,
        );
        assert.ok(
          logprobs.every((logprob) => logprob <= rounding),
          `logprobs are ${logprobs.join(", ")}`,
        );
        assert.equal(finish === "stop", stopTokenIds.includes(ids.at(-1)!));
        for (const id of ids.slice(0, -1)) assert.ok(!stopTokenIds.includes(id), "a sample goes on after its end");
      }
    },
    "returns equal samples for equal requests": async ({ sampler, request }) => {
      const requests = [request(4), request(5)];
      assertSameSamples(await sampleAll(sampler, requests), await sampleAll(sampler, requests), 0);
    },
    "reports the tokens of its samples before them, if it reports tokens": async ({ sampler, request }) => {
      const reported = new Map<number, { readonly ids: number[]; readonly logprobs: number[] }>();
      const samples: Sample[] = [];
      const onSampled = (tokens: readonly SampledToken[]): void => {
        for (const { request: index, id, logprob } of tokens) {
          assert.ok(!samples.some((sample) => sample.request === index), "a token comes after its sample");
          const { ids, logprobs } = reported.get(index) ?? { ids: [], logprobs: [] };
          reported.set(index, { ids: [...ids, id], logprobs: [...logprobs, logprob] });
        }
      };
      for await (const sample of sampler.sample([request(7), request(8)], { onSampled })) samples.push(sample);
      if (reported.size === 0) return;
      for (const { request: index, ids, logprobs } of samples) {
        assert.deepEqual(reported.get(index), { ids: [...ids], logprobs: [...logprobs] });
      }
    },
    "reports the most likely tokens of its samples, if it reports any": async (subject) => {
      const { sampler, request, promptIds } = subject;
      const count = Math.min(3, subject.vocabularySize);
      const requests = [request(12), request(13)];
      const plain = await sampleAll(sampler, requests);
      const tokens: SampledToken[] = [];
      const onSampled = (sampled: readonly SampledToken[]): void => void tokens.push(...sampled);
      const asked = requests.map((each) => ({ ...each, topLogprobs: count }));
      for (const sample of await sampleAll(sampler, asked, { onSampled })) {
        const { request: index, ids, topLogprobs } = sample;
        assert.deepEqual(ids, plain[index]!.ids, "other tokens are sampled");
        if (topLogprobs === undefined) continue;
        checkTopLogprobs(sample, { ...subject, count });
        const reported = tokens.filter((token) => token.request === index).map((token) => token.topLogprobs);
        if (tokens.length > 0) assert.deepEqual(reported, topLogprobs);
        const scores = await sampler.score?.({ ids: [...promptIds, ...ids], last: ids.length, topK: count });
        for (const [place, [, logprob]] of topLogprobs.flat().entries()) {
          if (scores !== undefined) assertClose(logprob, scores.topLogprobs[place]!);
        }
      }
    },
    "samples the other requests if one is aborted": async ({ sampler, request }) => {
      const signals = [AbortSignal.abort(), new AbortController().signal, new AbortController().signal];
      const requests = [request(9), request(10), request(11)];
      const samples = await Array.fromAsync(sampler.sample(requests, { signals }));
      const places = samples.map((sample) => sample.request).filter((place) => place !== 0);
      assert.deepEqual(places.toSorted(), [1, 2]);
    },
    "gives shared calls that run at the same time the samples of each alone": async ({ sampler, request }) => {
      const lists = [[request(12), request(13)], [request(14)], [request(15), request(16)]];
      const stop = new AbortController();
      const aborted = Array.fromAsync(sampler.sample([request(17)], { shared: true, signal: stop.signal })).catch(
        () => [],
      );
      const calls = lists.map((requests) => sampleAll(sampler, requests, { shared: true }));
      stop.abort();
      const together = await Promise.all(calls);
      await aborted;
      for (const [call, requests] of lists.entries()) {
        assertSameSamples(together[call]!, await sampleAll(sampler, requests), rounding);
      }
    },
    "samples the same with reuse of what it has read, except for rounding": async ({ sampler, request, promptIds }) => {
      const longest = Math.max(promptIds.length, 24);
      const prompt = Array.from({ length: longest }, (_, i) => promptIds[i % promptIds.length]!);
      const [first] = await sampleAll(sampler, [{ ...request(18), promptIds: prompt }], { reuse: true });
      const next = [19, 20].map((seed) => ({ ...request(seed), promptIds: [...prompt, ...first!.ids, promptIds[0]!] }));
      const [reusing, plain] = [await sampleAll(sampler, next, { reuse: true }), await sampleAll(sampler, next)];
      assertSameSamples(reusing, plain, rounding);
      for (const [i, { reusedTokens = 0 }] of reusing.entries()) {
        assert.ok(reusedTokens < next[i]!.promptIds.length, `${reusedTokens} tokens of the prompt were not read`);
      }
    },
    "yields nothing without requests": async ({ sampler }) => {
      assert.deepEqual(await sampleAll(sampler, []), []);
    },
    "does not sample after an abort": async ({ sampler, request }) => {
      const reason = new Error("stopped");
      const signal = AbortSignal.abort(reason);
      await assert.rejects(
        Array.fromAsync(sampler.sample([request(6)], { signal })),
        (error) => error === reason || (error as Error).name === "AbortError",
      );
    },
  });
}

async function sampleAll(
  sampler: Sampler,
  requests: readonly SampleRequest[],
  options?: SampleOptions,
): Promise<Sample[]> {
  const samples = await Array.fromAsync(sampler.sample(requests, options));
  return samples.toSorted((first, second) => first.request - second.request);
}

/** Checks the most likely tokens of a sample at temperature 1. */
function checkTopLogprobs(
  { ids, logprobs, topLogprobs = [] }: Sample,
  { count, vocabularySize }: { readonly count: number; readonly vocabularySize: number },
): void {
  assert.equal(topLogprobs.length, ids.length);
  for (const [place, top] of topLogprobs.entries()) {
    assert.equal(top.length, count);
    assert.equal(new Set(top.map(([id]) => id)).size, count, "a token is among the most likely ones twice");
    assert.ok(top.every(([id]) => Number.isInteger(id) && id >= 0 && id < vocabularySize));
    const values = top.map(([, logprob]) => logprob);
    assert.deepEqual(
      values,
      values.toSorted((a, b) => b - a),
    );
    const own = top.find(([id]) => id === ids[place]);
    if (own !== undefined) assertClose(own[1], logprobs[place]!);
    else assert.ok(logprobs[place]! <= values.at(-1)! + rounding, "a likelier token was sampled");
  }
}

function assertClose(value: number, expected: number): void {
  assert.ok(Math.abs(value - expected) < rounding, `a logprob is ${value}, but should be ${expected}`);
}
