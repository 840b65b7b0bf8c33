import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRandom } from "../../../src/core/random/random.ts";
import type { Datum } from "../../../trainers/backend/datum.ts";
import type { LossTerm } from "../../../trainers/backend/loss-term.ts";
import type { ClipRange } from "../../../trainers/backend/loss-values/clip-range.ts";
import { cispo, tokenLossOf } from "../../../trainers/backend/loss-values/token-loss-of.ts";
import { valueLoss } from "../../../trainers/backend/loss-values/value-loss.ts";
import type { LoraSpec } from "../../../trainers/backend/training-backend.ts";
import { isSlowTier, sampleOf } from "../../tier.ts";
import { decoderConfigs } from "./decoder-configs.ts";
import { ModelUnderTest, randomData, withOtherPolicies, withSupports } from "./model-under-test.ts";

const termLists: Record<string, readonly LossTerm[]> = {
  crossEntropy: [{ type: "crossEntropy", weight: 0.5 }],
  policyGradient: [{ type: "policyGradient" }],
  importanceSampling: [{ type: "importanceSampling", weight: 2 }],
  ppo: [{ type: "ppo", clipLow: 0.2, clipHigh: 0.28 }],
  "kl, k1": [{ type: "kl", estimator: "k1" }],
  "kl, k2": [{ type: "kl", estimator: "k2" }],
  "kl, k3": [{ type: "kl", estimator: "k3" }],
  entropy: [{ type: "entropy", weight: 0.7 }],
  cispo: [{ type: "cispo", clipLow: 0.2, clipHigh: 0.28 }],
  value: [{ type: "value", weight: 0.5 }],
  "value, clipped": [{ type: "value", clip: 0.2 }],
  "value between others": [
    { type: "ppo", clipLow: 0.2, clipHigh: 0.28 },
    { type: "value", clip: 0.2, weight: 0.3 },
    { type: "entropy", weight: 0.1 },
    { type: "value", weight: 0.1 },
  ],
  "ppo, kl and entropy": [
    { type: "ppo", clipLow: 0.2, clipHigh: 0.2, weight: 1.5 },
    { type: "kl", estimator: "k3", weight: 0.3 },
    { type: "entropy", weight: 0.2 },
  ],
};
const everything: readonly LossTerm[] = [...termLists["ppo, kl and entropy"]!, { type: "value", weight: 0.2 }];
const tied = decoderConfigs["llama, tied, grouped queries"]!;
const lora = { rank: 3, alpha: 6 };
const lengths = [7, 3, 1, 9];

/** The loss by its formulas in float64, computed from the model's log-probabilities, entropies and values. */
async function loss(model: ModelUnderTest, data: readonly Datum[], terms: readonly LossTerm[]): Promise<number> {
  const outputs = ["logprobs", "entropy", "values"] as const;
  const { logprobs, entropy, values } = await model.pass(data, [], { outputs });
  let sum = 0;
  for (const [i, datum] of data.entries()) {
    for (const [t, mask] of datum.lossMask.entries()) {
      if (mask === 0) continue;
      for (const term of terms) {
        if (term.type === "value") {
          const input = {
            prediction: values[i]![t]!,
            target: datum.returns![t]!,
            oldPrediction: datum.oldValues![t]!,
            mask,
          };
          sum += (term.weight ?? 1) * valueLoss(input, term.clip).value;
          continue;
        }
        if (term.type === "entropy") {
          sum -= (term.weight ?? 1) * mask * entropy[i]![t]!;
          continue;
        }
        sum += tokenLossOf(term, {
          logprob: logprobs[i]![t]!,
          behaviourLogprob: datum.behaviourLogprobs![t]!,
          referenceLogprob: datum.referenceLogprobs![t]!,
          advantage: datum.advantages![t]!,
          mask,
        }).value;
      }
    }
  }
  return sum;
}

/** The data with cispo's current clipped ratios multiplied into the advantages. */
async function withConstantRatios(model: ModelUnderTest, data: readonly Datum[], range: ClipRange): Promise<Datum[]> {
  const { logprobs } = await model.pass(data, []);
  return data.map((datum, i) => ({
    ...datum,
    advantages: datum.advantages!.map(
      (advantage, t) =>
        -cispo({ logprob: logprobs[i]![t]!, behaviourLogprob: datum.behaviourLogprobs![t]!, advantage, mask: 1 }, range)
          .derivative,
    ),
  }));
}

/** The slope of the loss along a direction of one parameter, by central differences of fourth order. */
async function slopeAlong(options: {
  readonly values: Float32Array;
  readonly direction: readonly number[];
  readonly step: number;
  readonly evaluate: () => Promise<number>;
}): Promise<number> {
  const { values, direction, step, evaluate } = options;
  const kept = values.slice();
  const at = async (distance: number): Promise<number> => {
    direction.forEach((component, i) => {
      values[i] = kept[i]! + distance * component;
    });
    const value = await evaluate();
    values.set(kept);
    return value;
  };
  const near = (await at(step)) - (await at(-step));
  const far = (await at(2 * step)) - (await at(-2 * step));
  return (8 * near - far) / (12 * step);
}

/**
 * Compares every parameter's gradient along itself plus a random direction. In the slow tier, compares it along both, and
 * at its largest entry.
 */
async function expectExactGradients(options: {
  readonly config: Readonly<Record<string, unknown>>;
  readonly terms: readonly LossTerm[];
  readonly adapter?: LoraSpec & { readonly rank: number; readonly alpha: number };
  readonly logitsPerChunk?: number;
  readonly maxTokens?: number;
  /** True if targets were sampled from a part of the vocabulary. */
  readonly truncated?: boolean;
}): Promise<void> {
  const { config, terms, adapter, truncated = false, ...layout } = options;
  await using model = new ModelUnderTest(config, adapter);
  const plain = randomData(lengths, { vocabulary: 29, seed: 5 });
  const data = await withOtherPolicies(model, truncated ? withSupports(plain, { vocabulary: 29, seed: 6 }) : plain);
  const pass = await model.pass(data, terms, layout);
  const expected = await loss(model, data, terms);
  const sum = pass.terms.reduce((a, b) => a + b);
  expect(Math.abs(sum - expected)).toBeLessThan(1e-4 * Math.max(1, Math.abs(expected)));
  // The ratios of cispo have no gradient, so its slope is that of a policy gradient weighted by them.
  const ratioTerm = terms.find((term) => term.type === "cispo");
  const slopeData = ratioTerm === undefined ? data : await withConstantRatios(model, data, ratioTerm);
  const slopeTerms = terms.map((term): LossTerm => (term === ratioTerm ? { type: "policyGradient" } : term));
  const random = createRandom(11);
  for (const { name } of model.trained.specs) {
    const gradient = pass.gradient.view(name);
    const norm = Math.hypot(...gradient);
    const noise = Array.from(gradient, () => random.normal());
    const largest = gradient.reduce((best, value, i) => (Math.abs(value) > Math.abs(gradient[best]!) ? i : best), 0);
    const itself = Array.from(gradient, (value) => value / (norm || 1));
    const across = noise.map((value) => value / Math.hypot(...noise));
    const directions: Readonly<Record<string, readonly number[]>> = isSlowTier
      ? { itself, across, "its largest entry": Array.from(gradient, (_, i) => (i === largest ? 1 : 0)) }
      : { "itself and across": itself.map((value, i) => (value + across[i]!) / Math.SQRT2) };
    for (const [what, direction] of Object.entries(directions)) {
      const analytic = direction.reduce((total, component, i) => total + component * gradient[i]!, 0);
      const numeric = await slopeAlong({
        values: model.trained.view(name),
        direction,
        // Short enough that no ratio of PPO crosses an edge of its clipping range.
        step: 0.02 / Math.max(1, norm),
        evaluate: () => loss(model, slopeData, slopeTerms),
      });
      expect(Math.abs(analytic - numeric), `${name} along ${what}: ${analytic}, ${numeric}`).toBeLessThan(
        2e-3 * Math.max(1, norm),
      );
    }
  }
}

describe("the gradient of a whole model agrees with finite differences", () => {
  it.each(Object.entries(termLists))("of %s, full and LoRA", async (_, terms) => {
    await expectExactGradients({ config: tied, terms });
    await expectExactGradients({ config: tied, terms, adapter: lora });
  });

  it.each(sampleOf(Object.entries(decoderConfigs), 4))("of %s, full and LoRA", async (_, config) => {
    await expectExactGradients({ config, terms: everything });
    // In one batch there are more tokens than inputs or outputs, so adapters are added to the weights. In small batches
    // they are not.
    await expectExactGradients({ config, terms: everything, adapter: lora });
    await expectExactGradients({ config, terms: everything, adapter: lora, maxTokens: 10 });
  });

  it.each(sampleOf(Object.entries(termLists), 3))("of %s on supports", async (_, terms) => {
    await expectExactGradients({ config: tied, terms, truncated: true });
    await expectExactGradients({ config: tied, terms, adapter: lora, truncated: true, logitsPerChunk: 150 });
  });

  it("with logits in four chunks, and with adapters on some layers only", async () => {
    await expectExactGradients({ config: tied, terms: everything, logitsPerChunk: 150 });
    await expectExactGradients({
      config: decoderConfigs["qwen2, one key head"]!,
      terms: everything,
      adapter: { rank: 2, alpha: 1, targets: ["v_proj", "down_proj"] },
      logitsPerChunk: 150,
    });
    await expectExactGradients({
      config: decoderConfigs["llama with every bias"]!,
      terms: everything,
      adapter: { rank: 3, alpha: 4, targets: ["k_proj", "v_proj", "up_proj"] },
    });
  });
});

/** The largest difference of two arrays, as a fraction of the largest value (at least 1). */
function distance(a: Float32Array, b: Float32Array): number {
  let [worst, largest] = [0, 1];
  for (const [i, value] of a.entries()) {
    worst = Math.max(worst, Math.abs(value - b[i]!));
    largest = Math.max(largest, Math.abs(value));
  }
  return worst / largest;
}

describe("a batch", () => {
  const sequences = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 6 });
  const kinds = fc.constantFrom(undefined, lora);
  const outputs = ["logprobs", "entropy", "values"] as const;
  const layouts = fc.record({
    maxTokens: fc.integer({ min: 1, max: 80 }),
    logitsPerChunk: fc.integer({ min: 100, max: 4000 }),
  });
  const truncations = fc.boolean();

  it("gives the results of its sequences one by one, in any micro-batches and chunks", async () => {
    await fc.assert(
      fc.asyncProperty(sequences, kinds, layouts, truncations, fc.nat(1000), async (...drawn) => {
        const [lengths, adapter, layout, truncated, seed] = drawn;
        await using model = new ModelUnderTest(tied, adapter);
        const plain = randomData(lengths, { vocabulary: 29, seed });
        const data = await withOtherPolicies(model, truncated ? withSupports(plain, { vocabulary: 29, seed }) : plain);
        const together = await model.pass(data, everything, { ...layout, outputs });
        const alone = new Float32Array(model.trained.data.length);
        const terms = everything.map(() => 0);
        // Adapters are added to the weights only in large micro-batches, which round differently.
        const tolerance = adapter === undefined ? 1e-5 : 3e-5;
        for (const [i, datum] of data.entries()) {
          const one = await model.pass([datum], everything, { outputs });
          one.gradient.data.forEach((value, place) => {
            alone[place]! += value;
          });
          one.terms.forEach((value, term) => {
            terms[term]! += value;
          });
          expect(distance(one.logprobs[0]!, together.logprobs[i]!)).toBeLessThan(tolerance);
          expect(distance(one.entropy[0]!, together.entropy[i]!)).toBeLessThan(tolerance);
          expect(distance(one.values[0]!, together.values[i]!)).toBeLessThan(tolerance);
        }
        expect(distance(alone, together.gradient.data)).toBeLessThan(tolerance);
        expect(distance(Float32Array.from(terms), Float32Array.from(together.terms))).toBeLessThan(tolerance);
      }),
      { numRuns: isSlowTier ? 15 : 4 },
    );
  });

  it("gives the same result whether its attention is split into blocks or not", async () => {
    // Alone, the first sequence is too short for blocks. Together with the second it is split too.
    await using model = new ModelUnderTest(tied, lora);
    const data = await withOtherPolicies(model, randomData([126, 131], { vocabulary: 29, seed: 3 }));
    const [short, long] = data.map((datum, i) =>
      i === 0 ? datum : { ...datum, lossMask: datum.lossMask.map(() => 0) },
    );
    const alone = await model.pass([short!], everything, { maxTokens: 1000 });
    const together = await model.pass([short!, long!], everything, { maxTokens: 1000 });
    expect(distance(alone.logprobs[0]!, together.logprobs[0]!)).toBeLessThan(1e-5);
    expect(distance(alone.gradient.data, together.gradient.data)).toBeLessThan(1e-5);
  });

  it("is not affected by the padding of its chunks, however unlikely its tokens are", async () => {
    await using model = new ModelUnderTest(decoderConfigs["llama with every bias"]!);
    const data = await withOtherPolicies(model, randomData([9, 4], { vocabulary: 29, seed: 2 }));
    // Padding positions predict token 0 from the first token. This makes that so unlikely that e^(-logprob) is
    // infinite.
    const head = model.weights.base.read("lm_head.weight").subarray(0, model.weights.config.hiddenSize);
    const [first] = data;
    const probe = { ...first!, targets: first!.targets.map(() => 0), lossMask: first!.lossMask.map(() => 1) };
    const unlikely = async (): Promise<boolean> => (await model.pass([probe], [])).logprobs[0]![0]! < -100;
    head.forEach((value, i) => {
      head[i] = 300 * value;
    });
    if (!(await unlikely()))
      head.forEach((value, i) => {
        head[i] = -value;
      });
    expect(await unlikely()).toBe(true);
    const present = data.map((datum) => ({
      ...datum,
      lossMask: datum.lossMask.map((w, t) => (datum.targets[t] === 0 ? 0 : w)),
    }));
    const shifted = await withOtherPolicies(model, present);
    const terms = [{ type: "kl", estimator: "k3" }] as const;
    const whole = await model.pass(shifted, terms);
    const chunked = await model.pass(shifted, terms, { logitsPerChunk: 29 });
    expect(whole.terms[0]).toBeGreaterThan(0);
    expect(distance(Float32Array.from(whole.terms), Float32Array.from(chunked.terms))).toBeLessThan(1e-4);
    expect(distance(whole.gradient.data, chunked.gradient.data)).toBeLessThan(1e-3);
  });
});
