import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ValueInput, valueLoss } from "../../../trainers/backend/loss-values/value-loss.ts";

const number = fc.double({ min: -5, max: 5, noNaN: true });
const input: fc.Arbitrary<ValueInput> = fc.record({
  prediction: number,
  target: number,
  oldPrediction: number,
  mask: fc.double({ min: 0, max: 2, noNaN: true }),
});
const clips = fc.option(fc.double({ min: 0.01, max: 3, noNaN: true }), { nil: undefined });

describe("the value loss", () => {
  it("has a derivative equal to finite differences", () => {
    fc.assert(
      fc.property(input, clips, (token, clip) => {
        const step = 1e-5;
        const at = (prediction: number) => valueLoss({ ...token, prediction }, clip);
        const [below, here, above] = [-step, 0, step].map((by) => at(token.prediction + by));
        // The derivative jumps where the two branches cross.
        fc.pre((below!.derivative === 0) === (above!.derivative === 0));
        expect((above!.value - below!.value) / (2 * step)).toBeCloseTo(here!.derivative, 4);
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    { why: "inside of the range", prediction: 1.1, clip: 0.2, value: 0.5 * 0.81, derivative: -0.9 },
    { why: "beyond it, towards the target", prediction: 1.5, clip: 0.2, value: 0.5 * 0.64, derivative: 0 },
    {
      why: "beyond it, past the target further than the range is",
      prediction: 3.5,
      clip: 0.2,
      value: 0.5 * 2.25,
      derivative: 1.5,
    },
    { why: "beyond it, away from the target", prediction: 0, clip: 0.2, value: 0.5 * 4, derivative: -2 },
    { why: "without a range", prediction: 1.5, clip: undefined, value: 0.5 * 0.25, derivative: -0.5 },
  ])("by hand: $why", ({ prediction, clip, value, derivative }) => {
    const loss = valueLoss({ prediction, target: 2, oldPrediction: 1, mask: 0.5 }, clip);
    expect(loss.value).toBeCloseTo(value, 12);
    expect(loss.derivative).toBeCloseTo(derivative, 12);
  });

  it("is never smaller with clipping, and the same within the range", () => {
    fc.assert(
      fc.property(input, fc.double({ min: 0.01, max: 3, noNaN: true }), (token, clip) => {
        const [clipped, plain] = [valueLoss(token, clip), valueLoss(token)];
        expect(clipped.value).toBeGreaterThanOrEqual(plain.value);
        if (Math.abs(token.prediction - token.oldPrediction!) < clip - 1e-9) {
          expect(clipped.value).toBeCloseTo(plain.value, 9);
        }
      }),
    );
  });
});
