import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { startStepTimer } from "../../trainers/training/remaining-time.ts";

/** Returns the timer's estimates after steps of these durations, for a run of `steps` steps. */
function expectations(durations: readonly number[], steps: number, spentMs = 0): number[] {
  let clock = 1e6;
  const timer = startStepTimer({ now: () => clock, spentMs });
  return durations.map((duration, index) => {
    clock += duration;
    return timer.stepEnded({ left: steps - index - 1 });
  });
}

describe("startStepTimer", () => {
  it("estimates the remaining steps by the earlier ones except the first", () => {
    expect(expectations([50, 10, 10, 10], 10)).toEqual([450, 80, 70, 60]);
    expect(expectations([50, 10, 20, 30], 6)).toEqual([250, 40, 45, 40]);
    expect(expectations([7], 1)).toEqual([0]);
    expect(expectations([50, 10], 10, 5)).toEqual([495, 80]);
  });

  it("is exact from the second step on if all steps except the first take the same time", () => {
    const size = fc.integer({ min: 1, max: 10_000 });
    fc.assert(
      fc.property(size, size, fc.integer({ min: 2, max: 40 }), (first, each, steps) => {
        const durations = [first, ...Array.from({ length: steps - 1 }, () => each)];
        const [atFirst, ...later] = expectations(durations, steps);
        expect(atFirst).toBe(first * (steps - 1));
        expect(later).toEqual(later.map((_, index) => each * (steps - index - 2)));
      }),
    );
  });
});
