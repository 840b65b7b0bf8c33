import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { downsample } from "../../../reports/viewer/downsample.ts";

describe("downsample", () => {
  it("loses no extreme and no step", () => {
    const value = fc.oneof(
      { weight: 9, arbitrary: fc.double({ min: -1e6, max: 1e6, noNaN: true }) },
      fc.constant(Number.NaN),
    );
    fc.assert(
      fc.property(fc.array(value, { maxLength: 300 }), fc.integer({ min: 1, max: 40 }), (ys, buckets) => {
        const xs = ys.map((_, index) => index * 3 + 1);
        const points = downsample({ xs, ys, buckets });
        expect(points.length).toBeLessThanOrEqual(2 * buckets);
        const finite = ys.filter(Number.isFinite);
        if (finite.length > 0) {
          expect(Math.min(...points.map(({ low }) => low))).toBe(Math.min(...finite));
          expect(Math.max(...points.map(({ high }) => high))).toBe(Math.max(...finite));
        }
        if (ys.length > 0) expect([points[0]!.from, points.at(-1)!.to]).toEqual([xs[0], xs.at(-1)]);
        for (const [index, point] of points.entries()) {
          expect(point.from).toBeLessThanOrEqual(point.to);
          if (index > 0) expect(point.from).toBeGreaterThan(points[index - 1]!.to);
        }
      }),
    );
  });
});
