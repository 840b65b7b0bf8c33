import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type LearningRateSchedule, learningRateAt } from "../../trainers/update/learning-rate-schedule.ts";

const base: LearningRateSchedule = { peak: 1, shape: "constant", warmupSteps: 0, finalFraction: 0, steps: 10 };
const schedule: fc.Arbitrary<LearningRateSchedule> = fc.record({
  peak: fc.double({ min: 1e-6, max: 1, noNaN: true }),
  shape: fc.constantFrom("constant", "linear", "cosine"),
  warmupSteps: fc.integer({ min: 0, max: 60 }),
  finalFraction: fc.double({ min: 0, max: 1, noNaN: true }),
  steps: fc.integer({ min: 1, max: 50 }),
});

describe("learningRateAt", () => {
  it("follows a hand-computed table", () => {
    expect([1, 5, 10].map((step) => learningRateAt(base, step))).toEqual([1, 1, 1]);
    const warm = { ...base, warmupSteps: 4 };
    expect([1, 2, 3, 4, 5].map((step) => learningRateAt(warm, step))).toEqual([0.25, 0.5, 0.75, 1, 1]);
    const linear: LearningRateSchedule = { ...base, shape: "linear", steps: 5, finalFraction: 0.2 };
    for (const [step, rate] of [1, 0.84, 0.68, 0.52, 0.36].entries()) {
      expect(learningRateAt(linear, step + 1)).toBeCloseTo(rate, 12);
    }
    const cosine: LearningRateSchedule = { ...base, shape: "cosine", steps: 5 };
    const cosines = [0, 1, 2, 3, 4].map((done) => 0.5 + Math.cos((Math.PI * done) / 5) / 2);
    for (const [step, rate] of cosines.entries()) {
      expect(learningRateAt(cosine, step + 1)).toBeCloseTo(rate, 12);
    }
  });

  it("rises to the peak, never exceeds it, never rises after it, and reaches the final fraction after the last step", () => {
    fc.assert(
      fc.property(schedule, (options) => {
        const rates = Array.from({ length: options.steps }, (_, i) => learningRateAt(options, i + 1));
        for (const [i, rate] of rates.entries()) {
          expect(rate).toBeGreaterThanOrEqual(0);
          expect(rate).toBeLessThanOrEqual(options.peak * (1 + 1e-12));
          if (i === 0) continue;
          if (i + 1 <= options.warmupSteps) expect(rate).toBeGreaterThan(rates[i - 1]!);
          else expect(rate).toBeLessThanOrEqual(rates[i - 1]! + 1e-15);
        }
        expect(rates.at(-1)).toBeGreaterThan(0);
        if (options.warmupSteps < options.steps && options.steps > 1 && options.shape !== "constant") {
          const after = learningRateAt(options, options.steps + 1);
          expect(after).toBeCloseTo(options.peak * options.finalFraction, 12);
          if (options.finalFraction < 1 - 1e-9) expect(rates.at(-1)).toBeGreaterThan(after);
        }
        if (options.warmupSteps >= 1 && options.warmupSteps <= options.steps) {
          expect(rates[options.warmupSteps - 1]).toBeCloseTo(options.peak, 12);
        }
      }),
    );
  });

  it("equals the schedules of transformers 4.57, without warm-up", () => {
    // get_linear_schedule_with_warmup and get_cosine_schedule_with_warmup: the factor of step s is that after s - 1.
    for (const steps of [1, 2, 3, 7, 100]) {
      for (let step = 1; step <= steps; step++) {
        const done = (step - 1) / steps;
        const options = { ...base, peak: 0.3, steps };
        expect(learningRateAt({ ...options, shape: "linear" }, step)).toBeCloseTo(0.3 * (1 - done), 12);
        const cosine = 0.5 * (1 + Math.cos(Math.PI * done));
        expect(learningRateAt({ ...options, shape: "cosine" }, step)).toBeCloseTo(0.3 * cosine, 12);
      }
    }
  });
});
