import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { generalizedAdvantages } from "../../../trainers/advantages/index.ts";

describe("generalizedAdvantages", () => {
  it("equal values computed by hand", () => {
    const { advantages, returns } = generalizedAdvantages({
      rewards: [0, 0, 1],
      values: [0.5, 0.6, 0.7],
      bootstrap: 0,
      gamma: 0.9,
      lambda: 0.5,
    });
    // Deltas: 0.9 x 0.6 - 0.5 = 0.04, 0.9 x 0.7 - 0.6 = 0.03, 1 - 0.7 = 0.3.
    expect(advantages[2]).toBeCloseTo(0.3, 12);
    expect(advantages[1]).toBeCloseTo(0.03 + 0.45 * 0.3, 12);
    expect(advantages[0]).toBeCloseTo(0.04 + 0.45 * (0.03 + 0.45 * 0.3), 12);
    for (const [t, value] of [0.5, 0.6, 0.7].entries()) expect(returns[t]).toBeCloseTo(advantages[t]! + value, 12);
  });

  const number = fc.double({ min: -2, max: 2, noNaN: true });
  const steps = fc.array(fc.record({ reward: number, value: number }), { minLength: 1, maxLength: 12 });
  const unit = fc.double({ min: 0, max: 1, noNaN: true });

  it("with lambda 1, the returns are the discounted future rewards and do not depend on the critic", () => {
    fc.assert(
      fc.property(steps, number, unit, (list, bootstrap, gamma) => {
        const rewards = list.map(({ reward }) => reward);
        const { returns } = generalizedAdvantages({
          rewards,
          values: list.map(({ value }) => value),
          bootstrap,
          gamma,
          lambda: 1,
        });
        const expected = rewards.map(
          (_, t) =>
            rewards.slice(t).reduce((sum, reward, k) => sum + gamma ** k * reward, 0) +
            gamma ** (rewards.length - t) * bootstrap,
        );
        for (const [t, value] of expected.entries()) expect(returns[t]).toBeCloseTo(value, 9);
      }),
    );
  });

  it("with lambda 0, each advantage is one temporal difference", () => {
    fc.assert(
      fc.property(steps, number, unit, (list, bootstrap, gamma) => {
        const values = list.map(({ value }) => value);
        const { advantages } = generalizedAdvantages({
          rewards: list.map(({ reward }) => reward),
          values,
          bootstrap,
          gamma,
          lambda: 0,
        });
        for (const [t, { reward, value }] of list.entries()) {
          expect(advantages[t]).toBeCloseTo(reward + gamma * (values[t + 1] ?? bootstrap) - value, 12);
        }
      }),
    );
  });

  it("with a perfect critic, all advantages are 0", () => {
    const { advantages } = generalizedAdvantages({
      rewards: [1, 2, 3],
      values: [6, 5, 3],
      bootstrap: 0,
      gamma: 1,
      lambda: 0.7,
    });
    expect(advantages.map((value) => Math.abs(value))).toEqual([0, 0, 0]);
  });
});
