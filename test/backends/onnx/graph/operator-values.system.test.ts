import { describe, expect, it } from "vitest";
import { GraphSession } from "../../../../trainers/backends/onnx/engine/session.ts";
import { clip, minimum } from "../../../../trainers/backends/onnx/graph/elementwise.ts";
import { gelu } from "../../../../trainers/backends/onnx/graph/gelu.ts";
import { Graph } from "../../../../trainers/backends/onnx/graph/graph.ts";
import { layerNorm } from "../../../../trainers/backends/onnx/graph/layer-norm.ts";
import { batchedProduct, matrixProduct } from "../../../../trainers/backends/onnx/graph/linear.ts";
import { rmsNorm, rotate, silu, softmax } from "../../../../trainers/backends/onnx/graph/neural.ts";
import { pickColumns } from "../../../../trainers/backends/onnx/graph/pick.ts";
import { reduceMax, reduceSum } from "../../../../trainers/backends/onnx/graph/reduction.ts";
import { reshape, splitBy, splitEvenly, transpose } from "../../../../trainers/backends/onnx/graph/shape.ts";
import type { Tensor } from "../../../../trainers/backends/onnx/graph/tensor.ts";

/** Six numbers, as a matrix of two rows. */
const values = [-2, -0.5, 3, 1, 0.25, -1];

/** Each function of the matrix, and its result row by row from an independent formula. */
const table: Record<string, readonly [(x: Tensor, graph: Graph) => Tensor, readonly number[]]> = {
  silu: [silu, values.map((x) => x / (1 + Math.exp(-x)))],
  // Values of the standard normal distribution from tables.
  gelu: [(x) => gelu(x, { approximate: false }), [-0.0455003, -0.1542688, 2.9959503, 0.8413447, 0.1496766, -0.1586553]],
  "gelu, approximate": [
    (x) => gelu(x, { approximate: true }),
    values.map((x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)))),
  ],
  softmax: [softmax, [values.slice(0, 3), values.slice(3)].flatMap(normalized)],
  "softmax of a masked logit": [
    (x, graph) => softmax(minimum(x, graph.constant(Float32Array.of(9, Number.NEGATIVE_INFINITY, 9), [3]))),
    [normalized([-2, 3]), normalized([1, -1])].flatMap(([first, last]) => [first!, 0, last!]),
  ],
  "softmax of huge logits": [
    (x, graph) => softmax(matrixProduct(x, graph.constant(Float32Array.of(1e4, 0, 0, 0, 1e4, 0, 0, 0, 1e4), [3, 3]))),
    [0, 0, 1, 1, 0, 0],
  ],
  rmsNorm: [
    (x, graph) => rmsNorm(x, graph.constant(Float32Array.of(1, 2, -3), [3]), 0.1),
    [values.slice(0, 3), values.slice(3)].flatMap((row) => {
      const root = Math.sqrt(row.reduce((sum, x) => sum + x * x, 0) / 3 + 0.1);
      return row.map((x, i) => (x / root) * [1, 2, -3][i]!);
    }),
  ],
  layerNorm: [
    (x, graph) =>
      layerNorm(x, {
        weight: graph.constant(Float32Array.of(1, 2, -3), [3]),
        bias: graph.constant(Float32Array.of(0, 10, 20), [3]),
        epsilon: 0.1,
      }),
    [values.slice(0, 3), values.slice(3)].flatMap((row) => {
      const mean = row.reduce((sum, x) => sum + x, 0) / 3;
      const root = Math.sqrt(row.reduce((sum, x) => sum + (x - mean) ** 2, 0) / 3 + 0.1);
      return row.map((x, i) => ((x - mean) / root) * [1, 2, -3][i]! + 10 * i);
    }),
  ],
  rotate: [
    // One token of one head with four values, at position 1: halves (a, b) become (a cos - b sin, a sin + b cos).
    (x, graph) =>
      rotate(reshape(matrixProduct(reshape(x, [1, 6]), graph.constant(firstFour, [6, 4])), [1, 4]), 1, {
        cos: graph.constant(Float32Array.of(1, 1, 0.6, 0.8), [2, 2]),
        sin: graph.constant(Float32Array.of(0, 0, 0.8, 0.6), [2, 2]),
        positions: graph.constant(BigInt64Array.of(1n), [1, 1]),
      }),
    [-2 * 0.6 - 3 * 0.8, -0.5 * 0.8 - 1 * 0.6, -2 * 0.8 + 3 * 0.6, -0.5 * 0.6 + 1 * 0.8],
  ],
  clip: [(x, graph) => clip(x, graph.scalar(-0.75), graph.scalar(1)), [-0.75, -0.5, 1, 1, 0.25, -0.75]],
  pickColumns: [(x, graph) => pickColumns(x, graph.constant(Int32Array.of(2, 0), [2])), [3, 1]],
  reduceMax: [(x) => reduceMax(x, [-1]), [3, 1]],
  reduceSum: [(x) => reduceSum(x, [0], { keepAxes: true }), [-1, -0.25, 2]],
  transpose: [(x) => transpose(x, [1, 0]), [-2, 1, -0.5, 0.25, 3, -1]],
  matrixProduct: [
    (x, graph) =>
      matrixProduct(x, x, { transposeB: true, scale: 2, addend: graph.constant(Float32Array.of(1, 2), [2]) }),
    [2 * 13.25 + 1, 2 * -5.125 + 2, 2 * -5.125 + 1, 2 * 2.0625 + 2],
  ],
  "batchedProduct over broadcast batches": [
    (x, graph) =>
      batchedProduct(reshape(x, [2, 1, 3]), graph.constant(Float32Array.of(1, 0, 1, 0, 1, 0), [2, 3]), {
        transposeB: true,
        scale: 3,
      }),
    [3, -1.5, 0, 0.75],
  ],
  "splitEvenly, the second part": [(x) => splitEvenly(x, { axis: 0, count: 2, name: "row" })[1]!, values.slice(3)],
  "splitBy, the first": [(x) => splitBy(x, 1, { sizes: x.graph.integers([1, 2]), names: [1, 2] })[0]!, [-2, 1]],
  "splitBy, the rest": [
    (x) => splitBy(x, 1, { sizes: x.graph.integers([1, 2]), names: [1, 2] })[1]!,
    [-0.5, 3, 0.25, -1],
  ],
};

const firstFour = Float32Array.from({ length: 24 }, (_, i) => (Math.floor(i / 4) === i % 4 ? 1 : 0));

function normalized(logits: readonly number[]): number[] {
  const exponentials = logits.map(Math.exp);
  const sum = exponentials.reduce((a, b) => a + b);
  return exponentials.map((value) => value / sum);
}

describe("operators compute their formulas", () => {
  it.each(Object.entries(table))("%s", async (_, [apply, expected]) => {
    const graph = new Graph();
    graph.output("y", apply(graph.input("x", "float32", [2, 3]), graph));
    await using session = await GraphSession.create(graph, { device: "cpu", threads: 1 });
    const { y } = await session.run({ x: { data: Float32Array.from(values), shape: [2, 3] } });
    expect(y).toHaveLength(expected.length);
    for (const [i, value] of expected.entries()) expect(y![i]).toBeCloseTo(value, 5);
  });
});
