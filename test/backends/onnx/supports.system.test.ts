import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Sample, SamplingSettings } from "../../../src/contract/sampler.ts";
import { type TokenSupport, writeSupport } from "../../../src/contract/token-support.ts";
import { type Datum, datumFromIds } from "../../../trainers/backend/datum.ts";
import { readLogits } from "../../../trainers/backends/onnx/inspect.ts";
import { randomData, withSupports } from "./model-under-test.ts";
import { sharedEngine } from "./shared-engine.ts";
import { tinyConfig } from "./tiny-config.ts";

const vocabulary = tinyConfig.vocab_size;
const source = { type: "scratch", config: tinyConfig, seed: 3 } as const;
const prompt = [70, 71, 72];

function keeps(support: TokenSupport, id: number): boolean {
  const words = new Int32Array(Math.ceil(vocabulary / 32));
  writeSupport(support, words);
  return ((words[id >> 5]! >>> (id & 31)) & 1) === 1;
}

/** The distribution after one token by definition: the softmax of logits / temperature over the kept tokens. */
function distributionOf(logits: Float32Array, support: TokenSupport, temperature: number): Map<number, number> {
  const weights = new Map<number, number>();
  const peak = Math.max(...logits);
  for (const [id, logit] of logits.entries()) {
    if (keeps(support, id)) weights.set(id, Math.exp((logit - peak) / temperature));
  }
  const total = [...weights.values()].reduce((sum, weight) => sum + weight, 0);
  return new Map([...weights].map(([id, weight]) => [id, weight / total]));
}

describe("log-probabilities and entropies on supports", () => {
  it("are those of the renormalized distribution over the kept tokens", async () => {
    await using backend = await sharedEngine();
    const model = await backend.openModel({ source, trainable: { type: "full" } });
    const data = withSupports(randomData([9, 4, 12], { vocabulary, seed: 1 }), { vocabulary, seed: 2 });
    const results = await model.forward(data, { outputs: ["logprobs", "entropy"] });
    let truncated = 0;
    for (const [i, datum] of data.entries()) {
      const logits = await readLogits(model, [...datum.tokens]);
      for (const [t, target] of datum.targets.entries()) {
        if (datum.lossMask[t] === 0) continue;
        const support = datum.supports![t]!;
        if (support !== null) truncated++;
        const row = logits.subarray(t * vocabulary, (t + 1) * vocabulary);
        const distribution = distributionOf(row, support, datum.temperature!);
        const entropy = [...distribution.values()].reduce((sum, p) => sum - p * Math.log(p), 0);
        expect(results[i]!.logprobs![t]).toBeCloseTo(Math.log(distribution.get(target)!), 4);
        expect(results[i]!.entropy![t]).toBeCloseTo(entropy, 4);
      }
    }
    expect(truncated).toBeGreaterThan(5);
  });

  it("change nothing if all tokens were kept", async () => {
    await using backend = await sharedEngine();
    const model = await backend.openModel({ source, trainable: { type: "frozen" } });
    const data = randomData([9, 4, 12], { vocabulary, seed: 1 });
    const everything = data.map((datum) => ({ ...datum, supports: Array.from(datum.targets, () => null) }));
    const outputs = ["logprobs", "entropy"] as const;
    expect(await model.forward(everything, { outputs })).toEqual(await model.forward(data, { outputs }));
  });

  it.each<[string, (datum: Datum) => Datum, RegExp]>([
    ["of another number than the targets", (datum) => ({ ...datum, supports: [] }), /8 tokens and 0 supports/],
    [
      "that lack their target",
      (datum) => ({ ...datum, supports: Array.from(datum.targets, () => []) }),
      /The support of target 2 of datum 0 lacks the target 65/,
    ],
  ])("are refused for supports %s", async (_, change, message) => {
    await using backend = await sharedEngine();
    const model = await backend.openModel({ source, trainable: { type: "full" } });
    const datum = datumFromIds({ ids: [1, 2, 3, 65, 65, 65, 65, 65, 65], mask: [0, 0, 0, 1, 1, 1, 1, 1, 1] });
    const refused = { code: "policy.unsupported-input", message: expect.stringMatching(message) };
    await expect(model.forward([change(datum)], { outputs: ["logprobs"] })).rejects.toMatchObject(refused);
    await expect(model.forwardBackward([change(datum)], [{ type: "crossEntropy" }])).rejects.toMatchObject(refused);
  });
});

/** Completions of one prompt as data. */
function dataOf(samples: readonly Sample[], temperature: number): Datum[] {
  return samples.map(({ ids, logprobs, supports }) =>
    datumFromIds({
      ids: [...prompt, ...ids],
      mask: [...prompt.map(() => 0), ...ids.map(() => 1)],
      logprobs: [...prompt.map(() => 0), ...logprobs],
      ...(supports === undefined ? {} : { supports: [...prompt.map(() => null), ...supports] }),
      temperature,
    }),
  );
}

describe("tokens sampled with top-k, top-p and min-p", () => {
  it("have the same log-probabilities in forward and in the sampler, for any settings", async () => {
    await using backend = await sharedEngine();
    const model = await backend.openModel({ source, trainable: { type: "full" } });
    const settings = fc.record(
      {
        temperature: fc.constantFrom(0.3, 0.7, 1, 1.6),
        topK: fc.constantFrom(1, 2, 8, 9, 50, 262, 1000),
        topP: fc.constantFrom(0.01, 0.3, 0.9, 0.999, 1),
        minP: fc.constantFrom(0.001, 0.1, 1),
        seed: fc.nat(1000),
      },
      { requiredKeys: ["temperature", "seed"] },
    );
    const sizes = new Set<string>();
    await fc.assert(
      fc.asyncProperty(settings, async ({ seed, ...sampling }) => {
        const sampler = await model.snapshot();
        const asked: SamplingSettings = { maxTokens: 8, supports: true, ...sampling } as SamplingSettings;
        const requests = [0, 1].map((i) => ({ promptIds: prompt, settings: asked, seed: seed + i, stopTokenIds: [] }));
        const samples: Sample[] = [];
        for await (const sample of sampler.sample(requests)) samples.push(sample);
        await sampler.close();
        const data = dataOf(samples, sampling.temperature);
        const results = await model.forward(data, { outputs: ["logprobs"] });
        for (const [i, datum] of data.entries()) {
          for (const support of datum.supports ?? []) sizes.add(support === null ? "all" : typeof support);
          for (const [t, logprob] of datum.behaviourLogprobs!.entries()) {
            expect(Math.abs(results[i]!.logprobs![t]! - logprob)).toBeLessThan(1e-5);
          }
        }
      }),
      { numRuns: 60 },
    );
    expect(sizes).toEqual(new Set(["all", "object", "string"]));
  });

  it("keep their supports when the weights change, even for tokens that the new weights would exclude", async () => {
    await using backend = await sharedEngine();
    const model = await backend.openModel({ source, trainable: { type: "full" } });
    const settings = { temperature: 1.3, topK: 4, maxTokens: 8, supports: true };
    const sampler = await model.snapshot();
    const requests = Array.from({ length: 8 }, (_, seed) => ({
      ...{ promptIds: prompt, settings, seed, stopTokenIds: [] },
    }));
    const samples: Sample[] = [];
    for await (const sample of sampler.sample(requests)) samples.push(sample);
    await sampler.close();
    const data = dataOf(samples, settings.temperature);
    // Trains away from the sampled tokens over the whole vocabulary, so that others become more likely.
    const away = data.map(({ supports: _, ...datum }) => ({ ...datum, lossMask: datum.lossMask.map((mask) => -mask) }));
    for (let step = 1; step <= 5; step++) {
      await model.forwardBackward(away, [{ type: "crossEntropy" }]);
      const adam = { learningRate: 0.03, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0 };
      await model.optimStep(adam, { stepId: step });
    }
    const results = await model.forward(data, { outputs: ["logprobs", "entropy"] });
    let cutOff = 0;
    for (const [i, datum] of data.entries()) {
      const logits = await readLogits(model, [...datum.tokens]);
      for (const [t, target] of datum.targets.entries()) {
        if (datum.lossMask[t] === 0) continue;
        const row = logits.subarray(t * vocabulary, (t + 1) * vocabulary);
        const above = row.filter((logit) => logit > row[target]!).length;
        if (above >= settings.topK) cutOff++;
        const distribution = distributionOf(row, datum.supports![t]!, settings.temperature);
        expect(results[i]!.logprobs![t]).toBeCloseTo(Math.log(distribution.get(target)!), 4);
        expect(results[i]!.entropy![t]).toBeLessThanOrEqual(Math.log(settings.topK) + 1e-5);
      }
    }
    expect(cutOff).toBeGreaterThan(5);
    // The loss of the ratio is finite for such tokens.
    const { loss } = await model.forwardBackward(
      data.map((datum) => ({ ...datum, advantages: datum.lossMask })),
      [{ type: "ppo", clipLow: 0.2, clipHigh: 0.2 }],
    );
    expect(Number.isFinite(loss)).toBe(true);
  });

  it("have other log-probabilities without their supports", async () => {
    await using backend = await sharedEngine();
    const model = await backend.openModel({ source, trainable: { type: "full" } });
    const settings = { temperature: 1, topK: 3, maxTokens: 8, supports: true };
    const sampler = await model.snapshot();
    const samples: Sample[] = [];
    for await (const sample of sampler.sample([{ promptIds: prompt, settings, seed: 1, stopTokenIds: [] }])) {
      samples.push(sample);
    }
    const [datum] = dataOf(samples, 1);
    const { supports: _, ...without } = datum!;
    const [result] = await model.forward([without], { outputs: ["logprobs"] });
    const gap = result!.logprobs!.reduce((sum, logprob, t) => sum + logprob - datum!.behaviourLogprobs![t]!, 0);
    expect(gap).toBeLessThan(-8);
  });

  it("have no supports unless requested, or if nothing is excluded", async () => {
    await using backend = await sharedEngine();
    const model = await backend.openModel({ source, trainable: { type: "full" } });
    const sampler = await model.snapshot();
    for (const settings of [
      { temperature: 1, maxTokens: 3, topK: 3 },
      { temperature: 1, maxTokens: 3, supports: true },
      { temperature: 0, maxTokens: 3, topK: 3, supports: true },
    ]) {
      const requests = [{ promptIds: prompt, settings, seed: 1, stopTokenIds: [] }];
      for await (const sample of sampler.sample(requests)) expect(sample.supports).toBeUndefined();
    }
  });
});
