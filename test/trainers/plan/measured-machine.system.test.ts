import { describe, expect, it } from "vitest";
import { exactly, interval } from "../../../trainers/plan/interval.ts";
import { combineRates, measureMachine, rateOf } from "../../../trainers/plan/measured-machine.ts";

describe("measureMachine", () => {
  it("returns rates with their spread, of at most a factor of 2", async () => {
    const { flops, bandwidth, operators, threads, memory } = await measureMachine(1);
    for (const { low, middle, high } of [flops, bandwidth, operators]) {
      expect(low).toBeGreaterThanOrEqual(middle / 2.0001);
      expect(low).toBeLessThanOrEqual(middle);
      expect(high / middle).toBeCloseTo(middle / low);
    }
    expect(flops.high).toBeGreaterThan(1e8);
    expect(bandwidth.high).toBeGreaterThan(1e8);
    expect(operators.high).toBeGreaterThan(1e3);
    expect(threads).toBe(1);
    expect(memory).toBeGreaterThan(1e9);
  });
});

describe("rateOf", () => {
  it("is the mean rate, with the factor of the farther quartile on both sides", () => {
    const { low, middle, high } = rateOf(30, [2, 2, 3, 3, 5]);
    expect([low, middle, high].map((rate) => rate.toFixed(3))).toEqual(["6.667", "10.000", "15.000"]);
    expect(rateOf(10, [1, 1, 1, 17])).toEqual(interval(1, 2, 4));
    expect(rateOf(10, [2, 2, 2, 2])).toEqual(exactly(5));
  });
});

describe("combineRates", () => {
  it("is the rate for equal work at each time", () => {
    const rates = { flops: interval(1, 2, 4), bandwidth: exactly(1), operators: exactly(1), threads: 2, memory: 1 };
    const faster = { ...rates, flops: interval(3, 6, 12) };
    expect(combineRates([rates, faster])).toEqual({ ...rates, flops: interval(1.5, 3, 6) });
  });
});
