import { add, multiply } from "./elementwise.ts";
import { gatherRows } from "./gather.ts";
import type { Graph } from "./graph.ts";
import { matrixProduct } from "./linear.ts";
import { reduceSum } from "./reduction.ts";
import { scaleAfter } from "./scale-after.ts";
import { concatenate, split } from "./shape.ts";
import { dimension, type Tensor } from "./tensor.ts";

/**
 * A quantized matrix (rows, columns) of which a graph makes a float32 matrix whenever it needs one. Its parts are those of
 * `QuantizedMatrix`.
 */
export interface StoredWeight {
  readonly form: "stored";
  readonly graph: Graph;
  readonly shape: readonly [number, number];
  readonly bits: 4 | 8;
  readonly values: Tensor;
  readonly scales: Tensor;
  readonly zeroPoints: Tensor;
}

/**
 * A quantized matrix (rows, columns) that products read without making a float32 matrix. Its parts are those of
 * `PackedMatrix`, and constants: the runtime lays them out once. A product with inputs of the graph would make a float32
 * matrix in each run, in one thread.
 */
export interface PackedWeight {
  readonly form: "packed";
  readonly graph: Graph;
  readonly shape: readonly [number, number];
  readonly bits: 4 | 8;
  /** True if products round their inputs to 8 bits. Only such products are fast with 8 bits. */
  readonly roundInputs: boolean;
  /** (rows, blocks, bytes of a block) */
  readonly values: Tensor;
  /** (rows x blocks) */
  readonly scales: Tensor;
  /** (rows x blocks), with 4 bits two in a byte. */
  readonly zeroPoints: Tensor;
}

/** A matrix of weights. */
export type Weight = Tensor | StoredWeight | PackedWeight;

/** x weight^T + addend, (tokens, rows). The addend is (tokens, rows), or (rows) for a bias. */
export function weightProduct(x: Tensor, weight: Weight, addend?: Tensor): Tensor {
  if (!("form" in weight)) return matrixProduct(x, weight, { transposeB: true, addend });
  if (weight.form === "packed") {
    const product = packedProduct(x, weight);
    return addend === undefined ? product : add(product, addend);
  }
  return weight.graph.composite({
    name: "weightProduct",
    inputs: addend === undefined ? [x] : [x, addend],
    build: () => ({
      outputs: [matrixProduct(x, asMatrix(weight, x), { transposeB: true, addend })],
      // The weights have no gradient. The matrix is made again, so that it is not kept from the forward pass.
      gradient: ([dy]) => [
        () => matrixProduct(dy!, asMatrix(weight, dy!)),
        () => (addend!.shape.length === 1 ? reduceSum(dy!, [0]) : dy!),
      ],
    }),
  })[0]!;
}

/**
 * Returns a weight as a float32 matrix (rows, columns). The runtime makes that of a quantized one only after `after`, a
 * matrix that is computed just before.
 */
export function asMatrix(weight: Weight, after: Tensor): Tensor {
  if (!("form" in weight)) return weight;
  const { scales, ...stored } = storedOf(weight);
  return dequantize({ ...stored, scales: multiply(scales, scaleAfter(after, 1)) });
}

/** Returns the rows of a weight at indices (tokens): (tokens, columns). No gradient if the weight is quantized. */
export function weightRows(weight: Weight, indices: Tensor): Tensor {
  if (!("form" in weight)) return gatherRows(weight, indices);
  const { values, scales, zeroPoints, ...stored } = storedOf(weight);
  return dequantize({
    ...stored,
    values: gatherRows(values, indices),
    scales: gatherRows(scales, indices),
    zeroPoints: gatherRows(zeroPoints, indices),
  });
}

function storedOf(weight: StoredWeight | PackedWeight): StoredWeight {
  if (weight.form === "stored") return weight;
  throw new TypeError("A packed weight can only be the right side of a product.");
}

/** Returns scale x (q - zeroPoint) of each value, without the padding of rows. */
function dequantize({ graph, bits, shape, values, scales, zeroPoints }: StoredWeight): Tensor {
  const [rows, columns] = [dimension(values, 0), shape[1]];
  const width = (dimension(values, 1) as number) * (8 / bits);
  const bytes = bits === 4 ? joinHalves(values, width) : values;
  const whole = graph.operation("DequantizeLinear", [bytes, scales, zeroPoints], {
    shape: [rows, width],
    attributes: { axis: 1, block_size: width / (dimension(scales, 1) as number) },
  });
  return width === columns ? whole : split(whole, 1, [columns, width - columns])[0]!;
}

/** Unpacks two values of 4 bits from each byte: those of the low bits, then those of the high bits. */
function joinHalves(bytes: Tensor, width: number): Tensor {
  const { graph, shape } = bytes;
  const constant = (value: number): Tensor => graph.constant(Uint8Array.of(value), []);
  const low = graph.operation("BitwiseAnd", [bytes, constant(15)], { type: "uint8", shape });
  const high = graph.operation("BitShift", [bytes, constant(4)], {
    type: "uint8",
    shape,
    attributes: { direction: "RIGHT" },
  });
  return concatenate([low, high], 1, width);
}

/**
 * Multiplies by the operator MatMulNBits: with float32 arithmetic (level 1), or with each block of the input rounded to 8
 * bits (level 4). No gradient.
 */
function packedProduct(x: Tensor, weight: PackedWeight): Tensor {
  const { graph, shape, bits, roundInputs, values, scales, zeroPoints } = weight;
  const [rows, columns] = shape;
  const [, blocks, bytes] = values.shape as readonly [number, number, number];
  const size = (8 / bits) * bytes;
  const padded = padColumns(x, Math.ceil(columns / size) * size);
  const width = dimension(padded, 1) as number;
  const digits = (blocks * size) / width;
  const repeated = digits === 1 ? padded : concatenate(Array(digits).fill(padded), 1, digits * width);
  return graph.operation("MatMulNBits", [repeated, values, scales, zeroPoints], {
    domain: "com.microsoft",
    shape: [dimension(x, 0), rows],
    attributes: { K: digits * width, N: rows, bits, block_size: size, accuracy_level: roundInputs ? 4 : 1 },
  });
}

/** Adds columns of zeros. */
function padColumns(x: Tensor, width: number): Tensor {
  const missing = width - (dimension(x, 1) as number);
  if (missing === 0) return x;
  return x.graph.operation("Pad", [x, x.graph.integers([0, 0, 0, missing])], { shape: [dimension(x, 0), width] });
}
