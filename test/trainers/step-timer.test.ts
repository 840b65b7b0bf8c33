import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { startStepTimer } from "../../trainers/step-timer.ts";

/** What the timer expects after each of some steps that took so long, when `steps` are to be taken in all. */
function expectations(durations: readonly number[], steps: number): number[] {
  let clock = 1e6;
  const timer = startStepTimer(() => clock);
  return durations.map((duration, index) => {
    clock += duration;
    return timer.stepEnded({ left: steps - index - 1 });
  });
}

describe("startStepTimer", () => {
  it("expects the steps left to take as long as those before, but for the first", () => {
    expect(expectations([50, 10, 10, 10], 10)).toEqual([450, 80, 70, 60]);
    expect(expectations([50, 10, 20, 30], 6)).toEqual([250, 40, 45, 40]);
    expect(expectations([7], 1)).toEqual([0]);
  });

  it("is right from the second step on where all steps but the first take the same time", () => {
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
