import { type Bits, blockSize, blocksOf } from "../../../model-folders/architecture/quantized-parameters.ts";

/**
 * A matrix in blocks of {@link blockSize} values of a row. A value is scale x (q - zeroPoint), with 0 <= q < 2^bits. Rows
 * are padded to whole blocks with values of 0.
 */
export interface QuantizedMatrix {
  /** (rows, columns), without the padding. */
  readonly shape: readonly [number, number];
  readonly bits: Bits;
  /**
   * q of each value, row by row. With 4 bits, a byte has the value of a column of the row's first half (low bits) and the
   * one of the same column of the second half, so that a row is unpacked by two operations on all of its bytes.
   */
  readonly values: Uint8Array;
  /** (rows, blocks) */
  readonly scales: Float32Array;
  /** (rows, blocks) */
  readonly zeroPoints: Uint8Array;
}

/**
 * Quantizes a matrix (rows, columns). The scheme is the affine one of Jacob et al. 2018 (equation 1), r = S (q - Z), for
 * each block, over the range of its values and 0. So 0 is exact, and each value differs by at most half a scale.
 * Deterministic. Returns undefined if a value is not finite.
 */
export function quantizeMatrix(
  matrix: Float32Array,
  shape: readonly [number, number],
  bits: Bits,
): QuantizedMatrix | undefined {
  const [rows, columns] = shape;
  const blocks = blocksOf(columns);
  const width = blocks * blockSize;
  const most = 2 ** bits - 1;
  const values = new Uint8Array((rows * width * bits) / 8);
  const scales = new Float32Array(rows * blocks);
  const zeroPoints = new Uint8Array(rows * blocks);
  const row = new Uint8Array(width);
  for (let r = 0; r < rows; r++) {
    for (let block = 0; block < blocks; block++) {
      const start = block * blockSize;
      const part = matrix.subarray(r * columns + start, r * columns + Math.min(columns, start + blockSize));
      let low = 0;
      let high = 0;
      for (const value of part) {
        if (!Number.isFinite(value)) return undefined;
        if (value < low) low = value;
        else if (value > high) high = value;
      }
      const scale = Math.fround((high - low) / most);
      const zeroPoint = scale === 0 ? 0 : Math.min(most, Math.round(-low / scale));
      scales[r * blocks + block] = scale;
      zeroPoints[r * blocks + block] = zeroPoint;
      row.fill(zeroPoint, start, start + blockSize);
      if (scale === 0) continue;
      for (let i = 0; i < part.length; i++) {
        row[start + i] = Math.min(most, Math.max(0, Math.round(part[i]! / scale) + zeroPoint));
      }
    }
    if (bits === 8) values.set(row, r * width);
    else joinHalves(row, values.subarray((r * width) / 2, ((r + 1) * width) / 2));
  }
  return { shape, bits, values, scales, zeroPoints };
}

/** Returns the values that a quantized matrix stands for, (rows, columns), in new memory. */
export function dequantizeMatrix(matrix: QuantizedMatrix): Float32Array {
  const { shape, scales, zeroPoints } = matrix;
  const [rows, columns] = shape;
  const blocks = blocksOf(columns);
  const result = new Float32Array(rows * columns);
  for (let r = 0; r < rows; r++) {
    const row = rowOf(matrix, r);
    for (let i = 0; i < columns; i++) {
      const block = r * blocks + Math.floor(i / blockSize);
      result[r * columns + i] = (row[i]! - zeroPoints[block]!) * scales[block]!;
    }
  }
  return result;
}

/** A matrix in the layout of the operator MatMulNBits. */
export interface PackedMatrix {
  readonly bits: Bits;
  /** (rows, blocks, 4 x bits). With 4 bits two values in a byte, the first one in the low bits. */
  readonly values: Uint8Array;
  /** (rows, blocks) */
  readonly scales: Float32Array;
  /** (rows, blocks). With 4 bits two in a byte, so half of the blocks, rounded up. */
  readonly zeroPoints: Uint8Array;
  /** The blocks of a row. */
  readonly blocks: number;
}

/**
 * Lays matrices of equal widths out for MatMulNBits, one below the other. The operator has a kernel for 8 bits only if it
 * rounds its inputs (`whole`), and without rounding it is fast with 4 bits only. A value of 8 bits is 16 times its high digit
 * plus its low digit, so a row of 8 bits then becomes the digits of one row after the other: high digits with 16 times the
 * scale, low digits with the scale. The input of the product is repeated.
 */
export function packMatrices(
  matrices: readonly QuantizedMatrix[],
  { whole }: { readonly whole: boolean },
): PackedMatrix {
  const { bits, shape } = matrices[0]!;
  const own = blocksOf(shape[1]);
  if (bits === 8 && whole) {
    const values = joined(matrices.map((matrix) => matrix.values));
    const scales = joined(matrices.map((matrix) => matrix.scales));
    return { bits, values, scales, zeroPoints: joined(matrices.map((matrix) => matrix.zeroPoints)), blocks: own };
  }
  const digits = bits / 4;
  const blocks = digits * own;
  const half = Math.ceil(blocks / 2);
  const rows = matrices.reduce((sum, matrix) => sum + matrix.shape[0], 0);
  const values = new Uint8Array((rows * blocks * blockSize) / 2);
  const scales = new Float32Array(rows * blocks);
  const zeroPoints = new Uint8Array(rows * half);
  let to = 0;
  for (const matrix of matrices) {
    for (let r = 0; r < matrix.shape[0]; r++, to++) {
      const row = rowOf(matrix, r);
      for (let digit = 0; digit < digits; digit++) {
        // The first digit is the highest.
        const shift = 4 * (digits - 1 - digit);
        const start = (to * blocks + digit * own) * (blockSize / 2);
        for (let i = 0; i < row.length; i += 2) {
          values[start + i / 2] = ((row[i]! >> shift) & 15) | (((row[i + 1]! >> shift) & 15) << 4);
        }
        for (let block = 0; block < own; block++) {
          const place = digit * own + block;
          scales[to * blocks + place] = matrix.scales[r * own + block]! * 2 ** shift;
          const zeroPoint = (matrix.zeroPoints[r * own + block]! >> shift) & 15;
          zeroPoints[to * half + (place >> 1)]! |= zeroPoint << (4 * (place & 1));
        }
      }
    }
  }
  return { bits: 4, values, scales, zeroPoints, blocks };
}

/** Returns arrays one after the other. A single one is not copied. */
function joined<T extends Uint8Array | Float32Array>(arrays: readonly T[]): T {
  if (arrays.length === 1) return arrays[0]!;
  const length = arrays.reduce((sum, array) => sum + array.length, 0);
  const whole = new (arrays[0]!.constructor as new (length: number) => T)(length);
  let start = 0;
  for (const array of arrays) {
    whole.set(array, start);
    start += array.length;
  }
  return whole;
}

/** Returns q of each value of a row, with the padding. */
function rowOf({ shape, bits, values }: QuantizedMatrix, row: number): Uint8Array {
  const width = blocksOf(shape[1]) * blockSize;
  if (bits === 8) return values.subarray(row * width, (row + 1) * width);
  const half = width / 2;
  const packed = values.subarray(row * half, (row + 1) * half);
  const result = new Uint8Array(width);
  for (let i = 0; i < half; i++) {
    result[i] = packed[i]! & 15;
    result[half + i] = packed[i]! >> 4;
  }
  return result;
}

/** Packs the q of a row: see {@link QuantizedMatrix.values}. */
function joinHalves(row: Uint8Array, packed: Uint8Array): void {
  const half = packed.length;
  for (let i = 0; i < half; i++) packed[i] = row[i]! | (row[half + i]! << 4);
}
