import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Datum } from "../../../trainers/backend/datum.ts";
import { type DpoOptions, dpo } from "../../../trainers/losses/dpo.ts";
import { gspo } from "../../../trainers/losses/gspo.ts";
import type { SequenceInput, SequenceLoss } from "../../../trainers/losses/sequence-loss.ts";

/** A datum whose first target is context. */
function datum(values: {
  readonly advantage?: number;
  readonly behaviour: readonly number[];
  readonly reference: readonly number[];
}): Datum {
  const { behaviour, reference, advantage = 0 } = values;
  const length = behaviour.length + 1;
  return {
    tokens: new Int32Array(length),
    targets: new Int32Array(length),
    lossMask: Float32Array.from([0, ...behaviour.map(() => 1)]),
    advantages: Float32Array.from([0, ...behaviour.map(() => advantage)]),
    behaviourLogprobs: Float32Array.from([0, ...behaviour]),
    referenceLogprobs: Float32Array.from([0, ...reference]),
  };
}

const logprob = fc.double({ min: -3, max: -0.05, noNaN: true });

/** Two data of a few tokens each, with log-probabilities in float32. */
const input: fc.Arbitrary<SequenceInput> = fc
  .record({
    lengths: fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 4 })),
    values: fc.array(logprob, { minLength: 24, maxLength: 24 }),
    advantages: fc.tuple(fc.double({ min: -2, max: 2, noNaN: true }), fc.double({ min: -2, max: 2, noNaN: true })),
    offset: fc.double({ min: -1, max: 1, noNaN: true }),
  })
  .map(({ lengths, values, advantages, offset }) => {
    const left = [...values];
    const take = (count: number): number[] => left.splice(0, count);
    const data = lengths.map((length, i) =>
      datum({ behaviour: take(length), reference: take(length), advantage: advantages[i]! }),
    );
    const logprobs = lengths.map((length) => Float32Array.from([0, ...take(length)]));
    return { data, logprobs, preferred: 1, marginOffset: offset };
  });

/** The largest difference between a loss's derivatives and central differences of its value. */
function gradientError(loss: SequenceLoss, given: SequenceInput): number {
  const { derivatives } = loss.evaluate(given);
  let worst = 0;
  for (const [i, values] of given.logprobs.entries()) {
    for (const t of values.keys()) {
      const at = (step: number): number => {
        const moved = given.logprobs.map((list, k) =>
          k === i ? Float64Array.from(list, (value, place) => (place === t ? value + step : value)) : list,
        );
        return loss.evaluate({ ...given, logprobs: moved as unknown as Float32Array[] }).value;
      };
      const numeric = (at(1e-5) - at(-1e-5)) / 2e-5;
      worst = Math.max(worst, Math.abs(numeric - derivatives[i]![t]!));
    }
  }
  return worst;
}

describe("the derivative of a sequence-level loss equals finite differences", () => {
  const forms: readonly DpoOptions["form"][] = ["sigmoid", "hinge", "ipo"];
  for (const form of forms) {
    for (const referenceFree of [false, true]) {
      it(`dpo: ${form}${referenceFree ? ", reference-free" : ""}`, () => {
        const loss = dpo({ beta: 0.3, form, labelSmoothing: form === "sigmoid" ? 0.2 : 0, referenceFree });
        fc.assert(
          fc.property(input, (given) => {
            // The corner of a hinge has no derivative.
            const margin = loss.evaluate(given).metrics["preference/margin"]!;
            fc.pre(form !== "hinge" || Math.abs(margin - 1) > 1e-3);
            expect(gradientError(loss, given)).toBeLessThan(2e-4);
          }),
        );
      });
    }
  }

  it("gspo, away from the clip bounds", () => {
    const range = { clipLow: 0.2, clipHigh: 0.3 };
    const loss = gspo(range);
    fc.assert(
      fc.property(input, (given) => {
        const ratios = given.data.map(({ behaviourLogprobs, lossMask }, i) => {
          const tokens = [...lossMask.keys()].filter((t) => lossMask[t] === 1);
          const sum = tokens.reduce((total, t) => total + given.logprobs[i]![t]! - behaviourLogprobs![t]!, 0);
          return Math.exp(sum / tokens.length);
        });
        fc.pre(ratios.every((ratio) => Math.abs(ratio - 0.8) > 1e-3 && Math.abs(ratio - 1.3) > 1e-3));
        expect(gradientError(loss, given)).toBeLessThan(2e-4);
      }),
    );
  });
});

describe("dpo", () => {
  const given: SequenceInput = {
    data: [datum({ behaviour: [0, 0], reference: [-1, -2] }), datum({ behaviour: [0], reference: [-1.5] })],
    logprobs: [Float32Array.of(0, -0.5, -1), Float32Array.of(0, -2.5)],
    preferred: 1,
  };
  const options: DpoOptions = { beta: 0.5, form: "sigmoid", labelSmoothing: 0, referenceFree: false };
  // (-1.5 + 3) - (-2.5 + 1.5) = 2.5
  it("equals values computed by hand", () => {
    expect(dpo(options).evaluate(given).value).toBeCloseTo(Math.log1p(Math.exp(-1.25)), 6);
    expect(dpo({ ...options, labelSmoothing: 0.1 }).evaluate(given).value).toBeCloseTo(
      0.9 * Math.log1p(Math.exp(-1.25)) + 0.1 * Math.log1p(Math.exp(1.25)),
      6,
    );
    expect(dpo({ ...options, form: "hinge" }).evaluate(given).value).toBe(0);
    // Means over tokens: 0.75 + 1 = 1.75, and 1 / (2 x 0.5) = 1.
    expect(dpo({ ...options, form: "ipo" }).evaluate(given).value).toBeCloseTo(0.75 ** 2, 6);
    expect(dpo({ ...options, referenceFree: true }).evaluate(given).value).toBeCloseTo(Math.log1p(Math.exp(-0.5)), 6);
  });

  it("swapping the answers negates the margin", () => {
    const swapped = { ...given, data: [...given.data].reverse(), logprobs: [...given.logprobs].reverse() };
    const [one, other] = [given, swapped].map((pair) => dpo(options).evaluate(pair).metrics);
    expect(one!["preference/margin"]).toBeCloseTo(-other!["preference/margin"]!, 9);
    expect([one!["preference/accuracy"], other!["preference/accuracy"]]).toEqual([1, 0]);
  });

  it("the team's margin is added to the agent's own", () => {
    const { metrics } = dpo(options).evaluate({ ...given, marginOffset: -4 });
    expect(metrics["preference/margin"]).toBeCloseTo(0.5 * (2.5 - 4), 6);
  });
});

describe("gspo", () => {
  const loss = gspo({ clipLow: 0.2, clipHigh: 0.2 });
  const one = (advantage: number, distance: number): SequenceInput => ({
    data: [datum({ advantage, behaviour: [-1, -1], reference: [0, 0] })],
    logprobs: [Float32Array.of(0, -1 + distance, -1 + distance)],
    preferred: 1,
  });

  it("has one ratio for the sequence, and no gradient if it is clipped", () => {
    expect(loss.evaluate(one(2, 0)).value).toBeCloseTo(-2, 6);
    expect([...loss.evaluate(one(2, 0)).derivatives[0]!]).toEqual([0, -1, -1]);
    expect(loss.evaluate(one(1, 1))).toMatchObject({ value: -1.2, metrics: { "ratio/clip-fraction": 1 } });
    expect([...loss.evaluate(one(1, 1)).derivatives[0]!]).toEqual([0, 0, 0]);
    expect(loss.evaluate(one(-1, 1)).value).toBeCloseTo(Math.E, 5);
  });
});
