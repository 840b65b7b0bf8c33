import { describe, expect, it } from "vitest";
import { createRandom } from "../../../../src/core/random/random.ts";
import { type Feed, GraphSession } from "../../../../trainers/backends/onnx/engine/session.ts";
import { Graph } from "../../../../trainers/backends/onnx/graph/graph.ts";
import {
  asMatrix,
  type PackedWeight,
  type StoredWeight,
  weightProduct,
  weightRows,
} from "../../../../trainers/backends/onnx/graph/quantized-weight.ts";
import {
  dequantizeMatrix,
  packMatrices,
  type QuantizedMatrix,
  quantizeMatrix,
} from "../../../../trainers/backends/onnx/models/quantized-matrix.ts";

const random = createRandom(3);
const normal = (length: number): Float32Array => Float32Array.from({ length }, () => random.normal());

function feedsOf({ shape: [rows], values, scales, zeroPoints }: QuantizedMatrix): Record<string, Feed> {
  const feed = (data: Float32Array | Uint8Array): Feed => ({ data, shape: [rows, data.length / rows] });
  return { values: feed(values), scales: feed(scales), zeroPoints: feed(zeroPoints) };
}

function stored(graph: Graph, { shape, bits }: QuantizedMatrix, feeds: Record<string, Feed>): StoredWeight {
  const input = (name: string, type: "float32" | "uint8") => graph.input(name, type, feeds[name]!.shape);
  const parts = {
    values: input("values", "uint8"),
    scales: input("scales", "float32"),
    zeroPoints: input("zeroPoints", "uint8"),
  };
  return { form: "stored", graph, shape, bits, ...parts };
}

function packed(graph: Graph, matrices: readonly QuantizedMatrix[], { roundInputs = false } = {}): PackedWeight {
  const { bits, values, scales, zeroPoints, blocks } = packMatrices(matrices, { whole: roundInputs });
  const form = roundInputs ? "rounding" : "packed";
  const rows = matrices.reduce((sum, { shape }) => sum + shape[0], 0);
  return {
    form: "packed",
    graph,
    shape: [rows, matrices[0]!.shape[1]],
    bits,
    roundInputs,
    values: graph.constant(values, [rows, blocks, 4 * bits], { name: `${form} values`, external: true }),
    scales: graph.constant(scales, [scales.length], { name: `${form} scales`, external: true }),
    zeroPoints: graph.constant(zeroPoints, [zeroPoints.length], { name: `${form} zero points`, external: true }),
  };
}

/** x weight^T in float64. */
function product(x: Float32Array, weight: Float32Array, columns: number): number[] {
  const [tokens, rows] = [x.length / columns, weight.length / columns];
  return Array.from({ length: tokens * rows }, (_, i) => {
    const [token, row] = [Math.floor(i / rows), i % rows];
    let sum = 0;
    for (let k = 0; k < columns; k++) sum += x[token * columns + k]! * weight[row * columns + k]!;
    return sum;
  });
}

/** The most that products x weight^T may differ if each block of x is rounded to multiples of its largest value / 127. */
function roundingBounds(x: Float32Array, weight: Float32Array, columns: number): number[] {
  const steps = x.map((_, i) => {
    const start = i - ((i % columns) % 32);
    const block = x.subarray(start, Math.min(start + 32, i - (i % columns) + columns));
    return block.reduce((most, value) => Math.max(most, Math.abs(value)), 0) / 127;
  });
  return product(
    steps.map((step) => 0.5001 * step),
    weight.map(Math.abs),
    columns,
  );
}

describe.each([4, 8] as const)("a weight of %d bits", (bits) => {
  it.each([
    [1, 32, 7],
    [1, 50, 64],
    [5, 96, 33],
    [40, 70, 20],
    [300, 64, 48],
  ])("multiplies %d tokens of %d values in each form as its values do", async (tokens, columns, rows) => {
    const matrix = quantizeMatrix(normal(rows * columns), [rows, columns], bits)!;
    const feeds = feedsOf(matrix);
    const graph = new Graph();
    const x = graph.input("x", "float32", ["tokens", columns]);
    const weight = stored(graph, matrix, feeds);
    graph.output("stored", weightProduct(x, weight));
    graph.output("packed", weightProduct(x, packed(graph, [matrix])));
    graph.output("rounding", weightProduct(x, packed(graph, [matrix], { roundInputs: true })));
    graph.output("matrix", asMatrix(weight, x));
    graph.output("rows", weightRows(weight, graph.constant(Int32Array.of(3, 0, 3), [3])));
    await using session = await GraphSession.create(graph, { device: "cpu", threads: 1 });
    const data = normal(tokens * columns);
    const results = await session.run({ x: { data, shape: [tokens, columns] }, ...feeds });
    const values = dequantizeMatrix(matrix);
    expect(results.matrix).toEqual(values);
    const row = (index: number): Float32Array => values.subarray(index * columns, (index + 1) * columns);
    expect([...results.rows!]).toEqual([...row(3), ...row(0), ...row(3)]);
    const bounds = roundingBounds(data, values, columns);
    let rounding = 0;
    for (const [i, wanted] of product(data, values, columns).entries()) {
      expect(Math.abs(results.stored![i]! - wanted)).toBeLessThan(2e-5 * Math.sqrt(columns));
      expect(Math.abs(results.packed![i]! - wanted)).toBeLessThan(2e-5 * Math.sqrt(columns));
      const error = Math.abs(results.rounding![i]! - wanted);
      expect(error).toBeLessThan(bounds[i]! + 2e-5 * Math.sqrt(columns));
      rounding = Math.max(rounding, error);
    }
    // Inputs are really rounded, which makes products fast.
    expect(rounding).toBeGreaterThan(2e-3);
  });

  it("is multiplied by rounded inputs without an overflow", async () => {
    const columns = 256;
    const values = Float32Array.from({ length: 2 * columns }, (_, i) => (i < columns ? 1 : -1));
    const graph = new Graph();
    const x = graph.input("x", "float32", ["tokens", columns]);
    const matrix = quantizeMatrix(values, [2, columns], bits)!;
    graph.output("y", weightProduct(x, packed(graph, [matrix], { roundInputs: true })));
    await using session = await GraphSession.create(graph, { device: "cpu", threads: 1 });
    const data = Float32Array.from({ length: 2 * columns }, (_, i) => (i < columns ? 1 : -1));
    const { y } = await session.run({ x: { data, shape: [2, columns] } });
    const found = [...y!].map((value) => Math.round(1e4 * value) / 1e4);
    expect(found).toEqual([columns, -columns, -columns, columns]);
  });

  it("is multiplied together with the weights below it", async () => {
    const matrices = [3, 5].map((rows) => quantizeMatrix(normal(rows * 40), [rows, 40], bits)!);
    const graph = new Graph();
    const x = graph.input("x", "float32", ["tokens", 40]);
    const bias = normal(8);
    graph.output("y", weightProduct(x, packed(graph, matrices), graph.constant(bias, [8])));
    await using session = await GraphSession.create(graph, { device: "cpu", threads: 1 });
    const data = normal(2 * 40);
    const { y } = await session.run({ x: { data, shape: [2, 40] } });
    const values = Float32Array.of(...matrices.flatMap((matrix) => [...dequantizeMatrix(matrix)]));
    for (const [i, wanted] of product(data, values, 40).entries()) {
      expect(Math.abs(y![i]! - wanted - bias[i % 8]!)).toBeLessThan(1e-4);
    }
  });
});
