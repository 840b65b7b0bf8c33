import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRandom } from "../../../src/core/random/random.ts";
import { type Datum, datumFromIds } from "../../../trainers/backend/datum.ts";
import type { LossTerm } from "../../../trainers/backend/loss-term.ts";
import { LossScale } from "../../../trainers/backends/onnx/engine/loss-scale.ts";
import { prefixOrder } from "../../../trainers/backends/onnx/engine/prefix-order.ts";
import { activationSizes } from "../../../trainers/model-folders/architecture/kept-activations.ts";
import { splitPass } from "../../../trainers/model-folders/architecture/split-pass.ts";
import { isSlowTier, sampleOf } from "../../tier.ts";
import { decoderConfigs } from "./decoder-configs.ts";
import { ModelUnderTest, withOtherPolicies, withSupports } from "./model-under-test.ts";

const vocabulary = 29;
const lora = { rank: 3, alpha: 6 };
const allTerms: readonly LossTerm[] = [
  { type: "crossEntropy", weight: 0.5 },
  { type: "policyGradient" },
  { type: "importanceSampling", weight: 0.3 },
  { type: "ppo", clipLow: 0.2, clipHigh: 0.28 },
  { type: "cispo", clipLow: 0.2, clipHigh: 0.28, weight: 0.4 },
  { type: "kl", estimator: "k1", weight: 0.2 },
  { type: "kl", estimator: "k2" },
  { type: "kl", estimator: "k3", weight: 0.3 },
  { type: "entropy", weight: 0.1 },
  { type: "value", weight: 0.5 },
  { type: "value", clip: 0.2 },
];

/**
 * Sequences that branch off each other at random places, after a common prefix. Some are the beginning of another one or
 * equal to it. Losses are anywhere, so several sequences have different ones on the same token.
 */
function randomTree(options: { readonly seed: number; readonly branches: number; readonly part: number }): Datum[] {
  const { seed, branches, part } = options;
  const random = createRandom(seed);
  const draw = (count: number): number[] => Array.from({ length: count }, () => random.integer(0, vocabulary - 1));
  const prefix = draw(part);
  const sequences = [[...prefix, ...draw(random.integer(1, part))]];
  while (sequences.length < branches) {
    const other = random.pick(sequences);
    const kept = other.slice(0, random.integer(prefix.length, other.length));
    sequences.push([...kept, ...draw(random.pick([0, 1, random.integer(1, part)]))]);
  }
  return sequences.map((ids) => {
    const datum = datumFromIds({
      ids: [...ids, random.integer(0, vocabulary - 1)],
      mask: [...ids, 0].map(() => random.pick([0, 0, 1, 0.5])),
      temperature: random.pick([1, 0.7]),
    });
    return { ...datum, advantages: datum.lossMask.map((weight) => weight * random.normal()) };
  });
}

/** The norm of the difference of two arrays, relative to that of the first one or to 1. */
function distance(a: ArrayLike<number>, b: ArrayLike<number>): number {
  const difference = Array.from(a, (value, i) => value - b[i]!);
  return Math.hypot(...difference) / Math.max(1, Math.hypot(...Array.from(a)));
}

/** Compares a training pass, and one without terms, with the passes of each sequence alone, which share nothing. */
async function expectSameAsAlone(
  model: ModelUnderTest,
  data: readonly Datum[],
  options: {
    readonly terms: readonly LossTerm[];
    readonly maxTokens?: number;
    readonly logitsPerChunk?: number;
    readonly tolerance?: number;
  },
): Promise<void> {
  // Sums in another order differ by about 1e-6, and seldom by more than 1e-5.
  const { terms, maxTokens = 1000, tolerance = 3e-5 } = options;
  const sequences = data.map(({ tokens }) => tokens);
  const { batches, shares } = splitPass(
    sequences.map(({ length }) => length),
    { sizes: activationSizes(model.weights.config), maxTokens, prefixes: prefixOrder(sequences) },
  );
  const outputs = ["logprobs", "entropy", "values"] as const;
  expect(shares).toBe(true);
  expect(batches.length).toBeLessThan(data.length);
  const types = terms.map(({ type }) => type);
  const trained = [
    ...(types.some((type) => type !== "value") ? (["logprobs", "entropy"] as const) : []),
    ...(types.includes("value") ? (["values"] as const) : []),
  ];
  const together = await model.pass(data, terms, { ...options, outputs: trained });
  const read = await model.pass(data, [], { ...options, outputs });
  const gradient = new Float64Array(model.trained.data.length);
  const sums = new Float64Array(terms.length);
  for (const [i, datum] of data.entries()) {
    const alone = await model.pass([datum], terms, { outputs: trained });
    alone.gradient.data.forEach((value, place) => {
      gradient[place]! += value;
    });
    alone.terms.forEach((value, term) => {
      sums[term]! += value;
    });
    const readAlone = await model.pass([datum], [], { outputs });
    for (const output of trained) {
      expect(distance(alone[output][0]!, together[output][i]!), `${output} of ${i}`).toBeLessThan(tolerance);
    }
    for (const output of outputs) {
      expect(distance(readAlone[output][0]!, read[output][i]!), `${output} of ${i}`).toBeLessThan(tolerance);
    }
  }
  expect(distance(gradient, together.gradient.data), "gradient").toBeLessThan(tolerance);
  expect(distance(sums, together.terms), "terms").toBeLessThan(tolerance);
}

describe("a pass that shares prefixes equals passes of its sequences alone", () => {
  const trees = fc.record({
    seed: fc.nat(1e6),
    branches: fc.integer({ min: 3, max: 7 }),
    part: fc.integer({ min: 3, max: 8 }),
  });
  const drawn = fc.record({
    tree: trees,
    terms: fc.subarray([...allTerms], { minLength: 1 }),
    adapter: fc.constantFrom(undefined, lora),
    truncated: fc.boolean(),
    layout: fc.record({
      maxTokens: fc.constantFrom(40, 1000),
      logitsPerChunk: fc.constantFrom(150, 1e6),
    }),
  });

  it.each(sampleOf(Object.entries(decoderConfigs), 6))("of %s", async (_, config) => {
    await fc.assert(
      fc.asyncProperty(drawn, async ({ tree, terms, adapter, truncated, layout }) => {
        await using model = new ModelUnderTest(config, adapter);
        const plain = randomTree(tree);
        const supported = truncated ? withSupports(plain, { vocabulary, seed: tree.seed }) : plain;
        await expectSameAsAlone(model, await withOtherPolicies(model, supported), { terms, ...layout });
      }),
      { numRuns: isSlowTier ? 20 : 3 },
    );
  });

  it("of every term at once, full and LoRA", async () => {
    for (const adapter of [undefined, lora]) {
      await using model = new ModelUnderTest(decoderConfigs["llama, tied, grouped queries"]!, adapter);
      const data = await withOtherPolicies(model, randomTree({ seed: 4, branches: 8, part: 6 }));
      await expectSameAsAlone(model, data, { terms: allTerms });
    }
  });

  it.each([
    "llama, tied, grouped queries",
    "gpt2",
    "starcoder2, a window shorter than its sequences",
  ])("of %s with attention in blocks, of which some rows skip the first", async (name) => {
    await using model = new ModelUnderTest({ ...decoderConfigs[name]!, n_positions: 600 }, lora);
    const data = await withOtherPolicies(model, randomTree({ seed: 2, branches: 5, part: 120 }));
    expect(Math.max(...data.map(({ tokens }) => tokens.length))).toBeGreaterThan(128);
    await expectSameAsAlone(model, data, { terms: allTerms });
  });

  it("with products in float16", async () => {
    const config = decoderConfigs["llama, tied, grouped queries"]!;
    await using model = new ModelUnderTest(config, lora, new LossScale());
    const data = await withOtherPolicies(model, randomTree({ seed: 6, branches: 5, part: 8 }));
    await expectSameAsAlone(model, data, { terms: [{ type: "crossEntropy" }, { type: "value" }], tolerance: 1e-2 });
  });
});
