import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { SamplingSettings } from "../../../src/contract/sampler.ts";
import { chooseToken, keptTokens } from "../../../src/core/policy/token-choice.ts";
import { createRandom } from "../../../src/core/random/random.ts";

const settings = (filters: Partial<SamplingSettings> = {}): SamplingSettings => ({
  temperature: 1,
  maxTokens: 1,
  ...filters,
});

/** Probabilities as from a softmax in float32: with ties, zeros, and a sum that rounding may move away from 1. */
const probabilities = fc
  .array(fc.constantFrom(0, 0, 1, 1, 2, 3, 7, 20, 1e-6), { minLength: 1, maxLength: 12 })
  .filter((weights) => weights.some((weight) => weight > 0))
  .map((weights) => {
    const sum = weights.reduce<number>((a, b) => a + b, 0);
    return Float32Array.from(weights, (weight) => weight / sum);
  });
const uniforms = fc.oneof(
  fc.constantFrom(0, 1 - 2 ** -53),
  fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
);
const filters = fc.record(
  {
    topK: fc.integer({ min: 0, max: 20 }),
    topP: fc.constantFrom(0, 1e-9, 0.3, 0.5, 0.9, 0.9999999, 1),
    minP: fc.constantFrom(0, 1e-9, 0.1, 0.5, 1),
  },
  { requiredKeys: [] },
);

/** The ids that each filter alone keeps, by definition. */
function keptByDefinition(values: Float32Array, { topK, topP, minP }: Partial<SamplingSettings>): Set<number> {
  const ids = [...values.keys()].filter((id) => values[id]! > 0);
  const ranked = ids.toSorted((a, b) => values[b]! - values[a]! || a - b);
  const massBefore = (rank: number): number => ranked.slice(0, rank).reduce((sum, id) => sum + values[id]!, 0);
  const kept = ranked.filter((id, rank) => {
    if (topK !== undefined && topK > 0 && rank >= topK) return false;
    if (topP !== undefined && topP < 1 && rank > 0 && massBefore(rank) >= topP) return false;
    return minP === undefined || values[id]! >= minP * values[ranked[0]!]!;
  });
  return new Set(kept);
}

describe("filters", () => {
  it("keep the intersection of what each keeps, most likely first, never an empty set", () => {
    fc.assert(
      fc.property(probabilities, filters, (values, filters) => {
        const kept = [...keptTokens(values, filters)];
        expect(new Set(kept)).toEqual(keptByDefinition(values, filters));
        expect(kept.length).toBeGreaterThan(0);
        for (const [rank, id] of kept.entries()) {
          if (rank === 0) continue;
          const before = kept[rank - 1]!;
          expect(values[before]! > values[id]! || (values[before] === values[id] && before < id)).toBe(true);
        }
      }),
      { numRuns: 1000 },
    );
  });

  it("that are off, or wider than the vocabulary, keep all tokens with a nonzero probability", () => {
    const values = Float32Array.of(0.5, 0, 0.25, 0.25);
    for (const off of [{}, { topK: 0 }, { topK: 4 }, { topK: 1000 }, { topP: 1 }, { minP: 0 }]) {
      expect([...keptTokens(values, off)]).toEqual([0, 2, 3]);
    }
  });

  it("break ties by the lower id", () => {
    const values = Float32Array.of(0.2, 0.4, 0.4);
    expect([...keptTokens(values, { topK: 1 })]).toEqual([1]);
    expect([...keptTokens(values, { topP: 0.1 })]).toEqual([1]);
    expect([...keptTokens(values, { minP: 1 })]).toEqual([1, 2]);
  });
});

describe("a chosen token", () => {
  it("is possible and kept, and its log-probability is that of the renormalized distribution", () => {
    fc.assert(
      fc.property(probabilities, filters, uniforms, (values, filters, uniform) => {
        const { id, logprob } = chooseToken(values, settings(filters), uniform);
        const kept = keptByDefinition(values, filters);
        expect(kept.has(id)).toBe(true);
        const mass = [...kept].reduce((sum, other) => sum + values[other]!, 0);
        expect(logprob).toBeCloseTo(Math.log(values[id]! / mass), 5);
        expect(logprob).toBeLessThanOrEqual(1e-6);
      }),
      { numRuns: 1000 },
    );
  });

  const values = Float32Array.of(0.05, 0.3, 0, 0.1, 0.25, 0.001, 0.199, 0.1);
  const drawn: Record<string, Partial<SamplingSettings>> = {
    "the whole distribution": {},
    "top-k": { topK: 3 },
    "top-p": { topP: 0.7 },
    "min-p": { minP: 0.35 },
    "all of them": { topK: 5, topP: 0.8, minP: 0.2 },
  };
  it.each(Object.entries(drawn))("has the right distribution: %s", (_, filters) => {
    const kept = keptByDefinition(values, filters);
    const mass = [...kept].reduce((sum, id) => sum + values[id]!, 0);
    const random = createRandom(20);
    const draws = 50_000;
    const counts = new Map<number, number>();
    for (let i = 0; i < draws; i++) {
      const { id } = chooseToken(values, settings(filters), random.next());
      counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    let chiSquare = 0;
    for (const id of kept) {
      const expected = (draws * values[id]!) / mass;
      chiSquare += ((counts.get(id) ?? 0) - expected) ** 2 / expected;
    }
    expect([...counts.keys()].every((id) => kept.has(id))).toBe(true);
    // The 99.9 % quantile of chi-square with 6 degrees of freedom is 22.5. With fewer it is lower.
    expect(chiSquare).toBeLessThan(22.5);
  });

  it("divides the range from 0 to 1 in order of id, in proportion to the probabilities", () => {
    const values = Float32Array.of(0.25, 0, 0.5, 0.25, 0);
    const at = (uniform: number): number => chooseToken(values, settings(), uniform).id;
    expect([0, 0.2499, 0.25, 0.7499, 0.75, 1 - 2 ** -53].map(at)).toEqual([0, 0, 2, 2, 3, 3]);
  });

  it("is found at its place in that range in large vocabularies too, with runs of impossible tokens", () => {
    const run = fc.record({
      length: fc.integer({ min: 1, max: 700 }),
      weight: fc.constantFrom(0, 0, 1, 3, 1e-6, 1000),
    });
    const runs = fc
      .array(run, { minLength: 1, maxLength: 8 })
      .filter((parts) => parts.some(({ weight }) => weight > 0))
      .map((parts) => {
        const weights = parts.flatMap(({ length, weight }) => Array<number>(length).fill(weight));
        const sum = weights.reduce((a, b) => a + b, 0);
        return Float32Array.from(weights, (weight) => weight / sum);
      });
    fc.assert(
      fc.property(runs, uniforms, (values, uniform) => {
        const { id } = chooseToken(values, settings(), uniform);
        const below = values.subarray(0, id).reduce((a, b) => a + b, 0);
        const total = values.reduce((a, b) => a + b, 0);
        expect(values[id]).toBeGreaterThan(0);
        expect(below).toBeLessThanOrEqual(uniform * total + 1e-6);
        expect(below + values[id]!).toBeGreaterThanOrEqual(uniform * total - 1e-6);
      }),
      { numRuns: 500 },
    );
  });

  it("is the only token if one has probability 1, and never an impossible one because of rounding", () => {
    for (const uniform of [0, 0.5, 1 - 2 ** -53]) {
      expect(chooseToken(Float32Array.of(0, 1, 0), settings(), uniform)).toEqual({ id: 1, logprob: 0 });
      expect(chooseToken(Float32Array.of(0, 1, 0), settings({ topP: 0.5 }), uniform)).toMatchObject({
        id: 1,
        logprob: 0,
      });
      // Sums of 0.9999999 and 1.0000001, with a zero at either end.
      expect([1, 2]).toContain(chooseToken(Float32Array.of(0, 0.4999999, 0.5, 0), settings(), uniform).id);
      expect([1, 2]).toContain(chooseToken(Float32Array.of(0, 0.5000001, 0.5, 0), settings(), uniform).id);
    }
    expect(chooseToken(Float32Array.of(1e-45, 0), settings(), 0.9).id).toBe(0);
  });

  it("at temperature 0 is the most likely one, the first among equals, regardless of filters and random number", () => {
    fc.assert(
      fc.property(probabilities, filters, uniforms, (values, filters, uniform) => {
        const { id, logprob } = chooseToken(values, settings({ ...filters, temperature: 0 }), uniform);
        const best = Math.max(...values);
        expect(id).toBe(values.indexOf(best));
        expect(logprob).toBe(Math.log(best));
      }),
    );
  });

  it.each([{}, { temperature: 0 }, { topK: 2 }, { minP: 0.5 }])("from NaN is an error: %j", (filters) => {
    expect(() => chooseToken(new Float32Array(3).fill(Number.NaN), settings(filters), 0.5)).toThrowError(
      expect.objectContaining({ code: "backend.not-finite", hint: expect.any(String) }),
    );
  });
});
