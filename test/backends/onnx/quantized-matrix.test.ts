import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  dequantizeMatrix,
  packMatrices,
  quantizeMatrix,
} from "../../../trainers/backends/onnx/models/quantized-matrix.ts";
import { type Bits, blockSize } from "../../../trainers/model-folders/architecture/quantized-parameters.ts";

// The range of values near the largest float32 is not one.
const range = { min: -(2 ** 126), max: 2 ** 126, noNaN: true, noDefaultInfinity: true } as const;
const finite = fc.float(range);
const bits = fc.constantFrom<Bits>(4, 8);

/** A matrix of up to 3 rows, whose last block is often partial. */
const matrix = fc
  .record({ rows: fc.integer({ min: 1, max: 3 }), columns: fc.integer({ min: 1, max: 100 }) })
  .chain(({ rows, columns }) =>
    fc
      .float32Array({ minLength: rows * columns, maxLength: rows * columns, ...range })
      .map((values) => ({ values, shape: [rows, columns] as const })),
  );

describe("a quantized matrix", () => {
  it("differs by at most half a scale, and has exact zeros", () => {
    fc.assert(
      fc.property(matrix, bits, ({ values, shape }, bits) => {
        const quantized = quantizeMatrix(values, shape, bits)!;
        const columns = shape[1];
        const blocks = Math.ceil(columns / blockSize);
        const back = dequantizeMatrix(quantized);
        for (const [i, value] of values.entries()) {
          const scale = quantized.scales[Math.floor(i / columns) * blocks + Math.floor((i % columns) / blockSize)]!;
          // A scale is rounded to float32, which matters if it is next to the smallest one.
          expect(Math.abs(back[i]! - value)).toBeLessThanOrEqual(scale * 0.5001 + 2 ** bits * 1e-45);
          if (value === 0) expect(back[i]).toBe(0);
        }
      }),
    );
  });

  it("keeps blocks of one value, to rounding", () => {
    fc.assert(
      fc.property(finite, bits, (value, bits) => {
        const back = dequantizeMatrix(quantizeMatrix(new Float32Array(40).fill(value), [1, 40], bits)!);
        for (const other of back) expect(Math.abs(other - value)).toBeLessThanOrEqual(1e-6 * Math.abs(value) + 1e-42);
      }),
    );
  });

  it("does not exist if a value is not finite", () => {
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
      const values = new Float32Array(70).fill(1);
      values[69] = value;
      expect(quantizeMatrix(values, [2, 35], 8)).toBeUndefined();
    }
  });

  it("takes a bit more than its bits, with a scale and a zero point for each block", () => {
    const { values, scales, zeroPoints } = quantizeMatrix(new Float32Array(2 * 40), [2, 40], 4)!;
    // Rows are padded to 64 values.
    expect([values.length, scales.length, zeroPoints.length]).toEqual([64, 4, 4]);
  });

  it("is packed to digits of 4 bits, or as a whole, that stand for the same values", () => {
    fc.assert(
      fc.property(matrix, bits, fc.boolean(), ({ values, shape }, bits, whole) => {
        const quantized = quantizeMatrix(values, shape, bits)!;
        const [rows, columns] = shape;
        const expected = dequantizeMatrix(quantized);
        // Two of them below each other.
        const packed = packMatrices([quantized, quantized], { whole });
        expect(packed.bits).toBe(whole ? bits : 4);
        const digits = bits / packed.bits;
        const own = packed.blocks / digits;
        const at = packed.bits === 4 ? nibble : (bytes: Uint8Array, index: number): number => bytes[index]!;
        for (const [i, value] of [...expected, ...expected].entries()) {
          const [row, column] = [Math.floor(i / columns), i % columns];
          let sum = 0;
          for (let digit = 0; digit < digits; digit++) {
            const place = digit * own + Math.floor(column / blockSize);
            const block = row * packed.blocks + place;
            const bytes = Math.ceil((packed.blocks * packed.bits) / 8);
            const q = at(packed.values.subarray(block * 4 * packed.bits), column % blockSize);
            const zeroPoint = at(packed.zeroPoints.subarray(row * bytes), place);
            sum += (q - zeroPoint) * packed.scales[block]!;
          }
          expect(Math.fround(sum)).toBe(value);
        }
        expect(packed.values.length).toBe(2 * rows * packed.blocks * 4 * packed.bits);
      }),
    );
  });
});

function nibble(bytes: Uint8Array, index: number): number {
  return (bytes[index >> 1]! >> (4 * (index & 1))) & 15;
}
