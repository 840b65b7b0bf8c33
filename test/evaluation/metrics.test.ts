import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bootstrapInterval, meanInterval, wilsonInterval } from "../../src/evaluation/metrics/confidence-interval.ts";
import { pairedTest, signTest } from "../../src/evaluation/metrics/paired-test.ts";
import { percentiles } from "../../src/evaluation/metrics/percentiles.ts";

describe("intervals", () => {
  // R's prop.test(c, n, correct = FALSE)$conf.int.
  it.each([
    [{ count: 8, of: 10 }, 0.4901625, 0.9433178],
    [{ count: 0, of: 20 }, 0, 0.1611251],
    [{ count: 20, of: 20 }, 0.8388749, 1],
    [{ count: 500, of: 1000 }, 0.4690699, 0.5309301],
  ])("of a share %o are Wilson's", (counts, low, high) => {
    const interval = wilsonInterval(counts);
    expect(interval.low).toBeCloseTo(low, 6);
    expect(interval.high).toBeCloseTo(high, 6);
  });

  it("name their method and contain the mean", () => {
    const values = fc.array(fc.double({ min: -5, max: 5, noNaN: true }), { minLength: 2, maxLength: 40 });
    fc.assert(
      fc.property(values, (list) => {
        const { low, high, method } = meanInterval(list)!;
        const mean = list.reduce((sum, value) => sum + value, 0) / list.length;
        expect(method).toBe(list.every((value) => value === 0 || value === 1) ? "wilson" : "bootstrap");
        expect(low).toBeLessThanOrEqual(mean + 1e-9);
        expect(high).toBeGreaterThanOrEqual(mean - 1e-9);
      }),
      { numRuns: 30 },
    );
    expect(meanInterval([1])).toBeUndefined();
  });

  it("by bootstrap are about as wide as the normal approximation, and reproducible", () => {
    const values = Array.from({ length: 400 }, (_, i) => Math.sin(i * 12.9898) * 3);
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const deviation = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
    const { low, high } = bootstrapInterval(values);
    const half = (1.96 * deviation) / Math.sqrt(values.length);
    expect((high - low) / 2 / half).toBeGreaterThan(0.9);
    expect((high - low) / 2 / half).toBeLessThan(1.1);
    expect(bootstrapInterval(values)).toEqual({ low, high, level: 0.95, method: "bootstrap" });
  });
});

describe("a paired test", () => {
  // Exact binomial test, two-sided.
  it.each([
    [0, 0, 1],
    [5, 5, 0.0625],
    [8, 10, 0.109375],
    [5, 10, 1],
    [60, 100, 0.05688793],
    [1_000, 2_000, 1],
  ])("of %i wins among %i changed tasks is the exact sign test", (wins, count, p) => {
    expect(signTest(wins, count)).toBeCloseTo(p, 7);
    expect(signTest(count - wins, count)).toBeCloseTo(p, 7);
  });

  it("uses the sign test for equal sizes and the permutation test for different sizes", () => {
    expect(pairedTest([1, 1, 0, 1, -1, 0, 1, 1])).toEqual({ method: "sign", p: signTest(5, 6) });
    // Of the 8 sign combinations of 1, 2 and 4, only all plus and all minus reach 7.
    expect(pairedTest([1, 2, 4])).toEqual({ method: "permutation", p: 2 / 8 });
    expect(pairedTest([])).toEqual({ method: "sign", p: 1 });
  });

  it("with random permutations is close to the exact test, and never 0", () => {
    const differences = Array.from({ length: 20 }, (_, i) => (i % 4 === 0 ? -1 : 1) * (1 + i / 10));
    // The exact share over all 2^20 sign combinations.
    let asLarge = 0;
    const observed = Math.abs(differences.reduce((sum, value) => sum + value, 0)) - 1e-9;
    for (let signs = 0; signs < 2 ** 20; signs++) {
      let total = 0;
      for (let i = 0; i < 20; i++) total += (signs >> i) & 1 ? differences[i]! : -differences[i]!;
      if (Math.abs(total) >= observed) asLarge += 1;
    }
    expect(pairedTest(differences).p).toBeCloseTo(asLarge / 2 ** 20, 2);
    expect(pairedTest(Array.from({ length: 40 }, (_, i) => 1 + i / 7)).p).toBe(1 / 10_001);
  });
});

it("percentiles use the nearest-rank method", () => {
  const values = Array.from({ length: 100 }, (_, i) => 100 - i);
  expect(percentiles(values)).toEqual({ p50: 50, p90: 90, p99: 99, max: 100 });
  expect(percentiles([7])).toEqual({ p50: 7, p90: 7, p99: 7, max: 7 });
  expect(percentiles([])).toBeUndefined();
});
