import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type AdvantageEstimator,
  advantageEstimators,
  groupMean,
  groupZScore,
  leaveOneOut,
  noBaseline,
} from "../../../trainers/advantages/index.ts";

const rewards = fc.array(fc.double({ min: -100, max: 100, noNaN: true }), { minLength: 1, maxLength: 16 });
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const close = (actual: readonly number[], expected: readonly number[], digits = 9): void => {
  expect(actual).toHaveLength(expected.length);
  for (const [i, value] of actual.entries()) expect(value).toBeCloseTo(expected[i]!, digits);
};

/** Computed by hand. Rewards 1, 0, 0, 3: mean 1, squared deviations 0 + 1 + 1 + 4, unbiased variance 2. */
const table: readonly (readonly [AdvantageEstimator, readonly number[], readonly number[]])[] = [
  [noBaseline, [1, 0, 0, 3], [1, 0, 0, 3]],
  [groupMean, [1, 0, 0, 3], [0, -1, -1, 2]],
  [groupZScore, [1, 0, 0, 3], [0, -Math.SQRT1_2, -Math.SQRT1_2, Math.SQRT2]],
  [leaveOneOut, [1, 0, 0, 3], [0, -4 / 3, -4 / 3, 8 / 3]],
  [noBaseline, [-2], [-2]],
  [groupMean, [5], [0]],
  [groupZScore, [5], [0]],
  [leaveOneOut, [5], [0]],
  [groupMean, [1, 0], [0.5, -0.5]],
  [groupZScore, [1, 0], [Math.SQRT1_2, -Math.SQRT1_2]],
  [leaveOneOut, [1, 0], [1, -1]],
];

describe("advantage estimators", () => {
  it.each(
    table.map(([estimator, input, output]) => ({ id: estimator.id, estimator, input, output })),
  )("$id of $input is $output", ({ estimator, input, output }) => close(estimator.estimate(input), output, 7));

  it("leaveOneOut subtracts the mean of the other rewards", () => {
    fc.assert(
      fc.property(rewards, (values) => {
        const expected = values.map((value, i) => {
          const others = values.filter((_, j) => j !== i);
          return others.length === 0 ? 0 : value - sum(others) / others.length;
        });
        close(leaveOneOut.estimate(values), expected, 8);
      }),
    );
  });

  for (const estimator of [groupMean, groupZScore, leaveOneOut]) {
    it(`${estimator.id} sums to zero`, () => {
      fc.assert(
        fc.property(rewards, (values) => {
          expect(sum(estimator.estimate(values))).toBeCloseTo(0, 4);
        }),
        { examples: [[[1e-9, -1e-9]], [[100, 100, 100 - 1e-9]]] },
      );
    });

    it(`${estimator.id} does not change if all rewards are shifted`, () => {
      fc.assert(
        fc.property(
          fc.array(fc.integer({ min: -50, max: 50 }), { minLength: 1, maxLength: 12 }),
          fc.integer({ min: -1000, max: 1000 }),
          (values, shift) => close(estimator.estimate(values.map((v) => v + shift)), estimator.estimate(values), 8),
        ),
      );
    });

    it(`${estimator.id} gives exactly zero if all rewards are equal`, () => {
      fc.assert(
        fc.property(fc.double({ min: -1e6, max: 1e6, noNaN: true }), fc.integer({ min: 1, max: 9 }), (value, size) => {
          const advantages = estimator.estimate(Array.from({ length: size }, () => value));
          expect(advantages.every((advantage) => advantage === 0)).toBe(true);
        }),
        { examples: [[0.1, 3]] },
      );
    });

    it(`${estimator.id} keeps the order of the rewards`, () => {
      fc.assert(
        fc.property(fc.array(fc.integer({ min: -9, max: 9 }), { minLength: 2, maxLength: 9 }), (values) => {
          const advantages = estimator.estimate(values);
          for (const [i, a] of values.entries()) {
            for (const [j, b] of values.entries()) if (a > b) expect(advantages[i]).toBeGreaterThan(advantages[j]!);
          }
        }),
      );
    });
  }

  it("groupZScore has unit standard deviation and does not depend on the scale of the rewards", () => {
    fc.assert(
      fc.property(
        fc
          .array(fc.integer({ min: -20, max: 20 }), { minLength: 2, maxLength: 10 })
          .filter((values) => new Set(values).size > 1),
        fc.integer({ min: 1, max: 100 }),
        (values, scale) => {
          const advantages = groupZScore.estimate(values);
          expect(sum(advantages.map((a) => a * a)) / (values.length - 1)).toBeCloseTo(1, 6);
          close(groupZScore.estimate(values.map((value) => value * scale)), advantages, 6);
        },
      ),
    );
  });

  it("are found by id, and an unknown id names the nearest", () => {
    for (const estimator of advantageEstimators.list()) expect(advantageEstimators.get(estimator.id)).toBe(estimator);
    expect(() => advantageEstimators.get("group-zscore")).toThrow(
      expect.objectContaining({ code: "config.unknown-name", hint: expect.stringContaining('"group-z-score"') }),
    );
  });
});
