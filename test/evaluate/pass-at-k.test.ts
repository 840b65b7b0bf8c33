import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { estimatePassAtK } from "../../src/evaluate/metrics/pass-at-k.ts";

/** C(n, k), exactly. */
function choose(n: number, k: number): bigint {
  let product = 1n;
  for (let i = 1; i <= k; i++) product = (product * BigInt(n - k + i)) / BigInt(i);
  return k > n ? 0n : product;
}

describe("estimatePassAtK", () => {
  it("is the chance that a draw of k samples holds a right one", () => {
    const counts = fc.integer({ min: 1, max: 200 }).chain((samples) =>
      fc.record({
        samples: fc.constant(samples),
        correct: fc.integer({ min: 0, max: samples }),
        k: fc.integer({ min: 1, max: samples }),
      }),
    );
    fc.assert(
      fc.property(counts, ({ samples, correct, k }) => {
        const scale = 10n ** 18n;
        const exact = Number(scale - (scale * choose(samples - correct, k)) / choose(samples, k)) / 1e18;
        expect(estimatePassAtK({ samples, correct, k })).toBeCloseTo(exact, 12);
      }),
    );
  });

  it("rounds as the original harness does", () => {
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
  ])("refuses %o", (counts) => {
    expect(() => estimatePassAtK(counts)).toThrow(expect.objectContaining({ code: "data.malformed" }));
  });
});
