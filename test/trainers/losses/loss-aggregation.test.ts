import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { lossScales } from "../../../trainers/losses/loss-aggregation.ts";

/** The aggregated loss of per-token losses with these scales. */
function aggregate(scales: readonly number[], losses: readonly (readonly number[])[]): number {
  return losses.reduce((sum, tokens, i) => sum + scales[i]! * tokens.reduce((a, b) => a + b, 0), 0);
}

const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;
const losses = fc.array(fc.array(fc.double({ min: -5, max: 5, noNaN: true }), { minLength: 1, maxLength: 9 }), {
  minLength: 1,
  maxLength: 9,
});

describe("lossScales", () => {
  it("token-mean is the mean over all tokens", () => {
    fc.assert(
      fc.property(losses, (tokens) => {
        const scales = lossScales(
          "token-mean",
          tokens.map((t) => t.length),
        );
        expect(aggregate(scales, tokens)).toBeCloseTo(mean(tokens.flat()), 10);
      }),
    );
  });

  it("sequence-mean is the mean over sequences of the mean over their tokens", () => {
    fc.assert(
      fc.property(losses, (tokens) => {
        const scales = lossScales(
          "sequence-mean",
          tokens.map((t) => t.length),
        );
        expect(aggregate(scales, tokens)).toBeCloseTo(mean(tokens.map(mean)), 10);
      }),
    );
  });

  it("fixedLength gives every token the same weight for all lengths", () => {
    expect(lossScales({ fixedLength: 10 }, [1, 7, 40, 0])).toEqual([1 / 30, 1 / 30, 1 / 30, 0]);
  });

  it("leaves out sequences without a trained token", () => {
    expect(lossScales("sequence-mean", [2, 0, 4])).toEqual([1 / 4, 0, 1 / 8]);
    expect(lossScales("token-mean", [2, 0, 2])).toEqual([1 / 4, 0, 1 / 4]);
    expect(lossScales("token-mean", [0, 0])).toEqual([0, 0]);
    expect(lossScales("sequence-mean", [])).toEqual([]);
  });
});
