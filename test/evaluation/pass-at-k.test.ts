import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { estimatePassAtK, estimatePassHatK } from "../../src/evaluation/metrics/pass-at-k.ts";

/** C(n, k), computed exactly. */
function choose(n: number, k: number): bigint {
  let product = 1n;
  for (let i = 1; i <= k; i++) product = (product * BigInt(n - k + i)) / BigInt(i);
  return k > n ? 0n : product;
}

/** The share of the draws of k samples that only have samples of `among`. */
function shareAmong(among: number, { samples, k }: { readonly samples: number; readonly k: number }): number {
  return Number((10n ** 18n * choose(among, k)) / choose(samples, k)) / 1e18;
}

const counts = fc.integer({ min: 1, max: 200 }).chain((samples) =>
  fc.record({
    samples: fc.constant(samples),
    correct: fc.integer({ min: 0, max: samples }),
    k: fc.integer({ min: 1, max: samples }),
  }),
);

describe("in a draw of k samples, the probability", () => {
  it("of at least one correct sample is pass@k", () => {
    fc.assert(
      fc.property(counts, (given) => {
        const allWrong = shareAmong(given.samples - given.correct, given);
        expect(estimatePassAtK(given)).toBeCloseTo(1 - allWrong, 12);
      }),
    );
  });

  it("of only correct samples is pass^k", () => {
    fc.assert(
      fc.property(counts, (given) => {
        expect(estimatePassHatK(given)).toBeCloseTo(shareAmong(given.correct, given), 12);
      }),
    );
  });

  it("is pass@k rounded as the original harness does", () => {
    expect(estimatePassAtK({ samples: 6, correct: 3, k: 1 })).toBe(0.4999999999999999);
  });

  it.each([
    { samples: 0, correct: 0, k: 1 },
    { samples: 5, correct: 6, k: 1 },
    { samples: 5, correct: -1, k: 1 },
    { samples: 5, correct: 1, k: 0 },
    { samples: 5, correct: 1, k: 6 },
    { samples: 5, correct: 1.5, k: 1 },
    { samples: Number.NaN, correct: 1, k: 1 },
  ])("cannot be estimated from %o", (given) => {
    const refusal = (what: string) =>
      expect.objectContaining({
        code: "data.malformed",
        message: expect.stringContaining(`${what} with k = ${given.k}`),
      });
    expect(() => estimatePassAtK(given)).toThrow(refusal("pass@k"));
    expect(() => estimatePassHatK(given)).toThrow(refusal("pass^k"));
  });
});
