import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chooseWidth, rowCost } from "../../../trainers/backends/onnx/engine/decode-grid.ts";

describe("the width of groups of rows with one prompt", () => {
  const grid = { rowCost: 500, length: 500, width: 1 };

  it("is the number of rows per prompt if all prompts have equally many", () => {
    expect(chooseWidth({ ...grid, rows: [8, 8, 8] })).toBe(8);
    expect(chooseWidth({ ...grid, rows: [1, 1, 1, 1] })).toBe(1);
  });

  it("leaves rows idle only if reading a prompt again costs more", () => {
    expect(chooseWidth({ ...grid, rows: [8, 1, 1, 1, 1], length: 10 })).toBe(1);
    expect(chooseWidth({ ...grid, rows: [8, 7], length: 4000 })).toBe(8);
  });

  it("changes only for a gain of at least a tenth", () => {
    const options = fc.record({
      rows: fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 12 }),
      length: fc.integer({ min: 1, max: 5000 }),
      rowCost: fc.double({ min: 1, max: 5000, noNaN: true }),
      width: fc.integer({ min: 1, max: 20 }),
    });
    fc.assert(
      fc.property(options, (drawn) => {
        // The cost of a step: every row of every group, and every group's prompt once.
        const cost = (width: number): number => {
          const groups = drawn.rows.flatMap((rows) => Array.from({ length: Math.ceil(rows / width) }, () => width));
          return groups.reduce((sum, rows) => sum + rows * drawn.rowCost + drawn.length, 0);
        };
        const chosen = chooseWidth(drawn);
        const others = Array.from({ length: 20 }, (_, i) => cost(i + 1));
        if (chosen === drawn.width) expect(Math.min(...others)).toBeGreaterThanOrEqual((cost(chosen) / 1.1) * 0.999999);
        else {
          expect(cost(chosen)).toBeLessThan(cost(drawn.width) / 1.1);
          expect(cost(chosen)).toBeLessThanOrEqual(Math.min(...others) * 1.000001);
        }
      }),
    );
  });
});

it("a row costs as much as reading a tenth of the cached tokens that contain as many values as the weights", () => {
  expect(rowCost(1_000_000, 1_000)).toBe(100);
});
