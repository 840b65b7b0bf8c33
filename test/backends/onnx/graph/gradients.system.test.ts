import { describe, expect, it } from "vitest";
import { GraphSession } from "../../../../trainers/backends/onnx/engine/session.ts";
import { compare, exp, multiply, negate, stopGradient } from "../../../../trainers/backends/onnx/graph/elementwise.ts";
import { gatherRows, scatterAddRows } from "../../../../trainers/backends/onnx/graph/gather.ts";
import { gradients } from "../../../../trainers/backends/onnx/graph/gradients.ts";
import { Graph } from "../../../../trainers/backends/onnx/graph/graph.ts";
import { batchedProduct } from "../../../../trainers/backends/onnx/graph/linear.ts";
import { pickColumns } from "../../../../trainers/backends/onnx/graph/pick.ts";
import { packHeads, splitHeads, unpackHeads } from "../../../../trainers/backends/onnx/graph/ragged.ts";
import { reduceMax, reduceSum } from "../../../../trainers/backends/onnx/graph/reduction.ts";
import { reshape, splitBy, splitEvenly } from "../../../../trainers/backends/onnx/graph/shape.ts";
import type { Tensor } from "../../../../trainers/backends/onnx/graph/tensor.ts";

/** Runs a graph of the input x, (values), and returns the output y. */
async function compute(values: readonly number[], build: (x: Tensor, graph: Graph) => Tensor): Promise<number[]> {
  const graph = new Graph();
  graph.output("y", build(graph.input("x", "float32", ["n"]), graph));
  await using session = await GraphSession.create(graph, { device: "cpu", threads: 1 });
  const { y } = await session.run({ x: { data: Float32Array.from(values), shape: [values.length] } });
  return [...y!];
}

function gradientBy(by: Tensor, tensor: Tensor, gradient = tensor.graph.scalar(1)): Tensor | undefined {
  return gradients({ outputs: [{ tensor, gradient }], by: [by] })[0];
}

describe("gradients", () => {
  it("adds the gradients of several paths and several outputs", async () => {
    // 3 d/dx x e^x + d/dx e^x
    const slopes = await compute([0.5, -1], (x, graph) => {
      const y = exp(x);
      const product = multiply(x, y);
      const [found] = gradients({
        outputs: [
          { tensor: reduceSum(product), gradient: graph.scalar(3) },
          { tensor: reduceSum(y), gradient: graph.scalar(1) },
        ],
        by: [x],
      });
      return found!;
    });
    for (const [i, x] of [0.5, -1].entries()) {
      expect(slopes[i]).toBeCloseTo(3 * (Math.exp(x) + x * Math.exp(x)) + Math.exp(x), 5);
    }
  });

  it("with respect to an intermediate tensor treats it as independent", async () => {
    const slopes = await compute([0.5, 2], (x) => {
      const middle = exp(x);
      return gradientBy(middle, reduceSum(multiply(middle, x)))!;
    });
    expect(slopes).toEqual([0.5, 2]);
  });

  it("with respect to parameters come last, in the requested order", () => {
    const graph = new Graph();
    const [x, a, b] = ["x", "a", "b"].map((name) => graph.input(name, "float32", [2, 2])) as [Tensor, Tensor, Tensor];
    const y = exp(batchedProduct(exp(batchedProduct(x, a)), b));
    const found = gradients({ outputs: [{ tensor: reduceSum(y), gradient: graph.scalar(1) }], by: [a, b] });
    const last = graph.nodes.slice(-2).map(({ outputs }) => outputs[0]);
    expect(last).toEqual(found);
  });

  it("is undefined if no output depends on a tensor, and computes nothing else", () => {
    const graph = new Graph();
    const x = graph.input("x", "float32", ["n"]);
    const other = graph.input("other", "float32", ["n"]);
    const y = reduceSum(exp(x));
    const before = graph.nodes.length;
    expect(gradientBy(other, y)).toBeUndefined();
    expect(graph.nodes).toHaveLength(before);
    // compare has no gradient and is not on the differentiated path.
    compare("Less", x, other);
    expect(gradientBy(x, y)).toBeDefined();
  });

  it("treats the input of stopGradient as a constant", async () => {
    expect(await compute([0.5, -2], (x) => gradientBy(x, reduceSum(multiply(stopGradient(exp(x)), x)))!)).toEqual(
      [0.5, -2].map((x) => Math.fround(Math.exp(x))),
    );
    const graph = new Graph();
    const x = graph.input("x", "float32", ["n"]);
    expect(gradientBy(x, reduceSum(stopGradient(x)))).toBeUndefined();
  });

  it("of an output with respect to itself is the given gradient", async () => {
    expect(await compute([1, 2], (x) => gradientBy(x, x, negate(x))!)).toEqual([-1, -2]);
  });

  const without: Record<string, (x: Tensor, graph: Graph) => Tensor> = {
    reduceMax: (x) => reduceMax(x, [1]),
    pickColumns: (x, graph) => pickColumns(x, graph.constant(Int32Array.of(0, 1), [2])),
    splitEvenly: (x) => splitEvenly(x, { axis: 0, count: 2, name: "part" })[0]!,
    splitBy: (x) => splitBy(x, 0, { sizes: x.graph.integers([1, 1]), names: [1, 1] })[0]!,
    "batchedProduct of unlike batches": (x) => batchedProduct(reshape(x, [1, 2, 2]), reshape(x, [2, 2])),
    "batchedProduct of a transposed": (x) => batchedProduct(x, x, { transposeA: true }),
    "reshape that cannot be undone": (x) => reshape(reshape(x, ["a", "b"]), ["c"]),
  };
  it.each(Object.entries(without))("refuses %s while the graph is built", (_, apply) => {
    const graph = new Graph();
    const x = graph.input("x", "float32", [2, 2]);
    expect(() => gradientBy(x, reduceSum(apply(x, graph)))).toThrow();
  });
});

describe("gathering", () => {
  it("adds the gradients of a row that is gathered thousands of times, with the same result in every run", async () => {
    const [rows, width, count] = [8, 64, 4096];
    const graph = new Graph();
    const matrix = graph.input("matrix", "float32", [rows, width]);
    const indices = graph.input("indices", "int32", ["n"]);
    const updates = graph.input("updates", "float32", ["n", width]);
    graph.output("y", gradientBy(matrix, gatherRows(matrix, indices), updates)!);
    await using session = await GraphSession.create(graph, { device: "cpu", threads: 4 });
    const picked = Int32Array.from({ length: count }, (_, i) => (i * i * 31) % rows);
    const values = Float32Array.from({ length: count * width }, (_, i) => Math.sin(i));
    const expected = new Float32Array(rows * width);
    for (let i = 0; i < values.length; i++)
      expected[picked[Math.floor(i / width)]! * width + (i % width)]! += values[i]!;
    for (let run = 0; run < 100; run++) {
      const { y } = await session.run({
        matrix: { data: new Float32Array(rows * width), shape: [rows, width] },
        indices: { data: picked, shape: [count] },
        updates: { data: values, shape: [count, width] },
      });
      expect(y).toEqual(expected);
    }
  });

  it("leaves the other rows at 0, also if nothing is added", async () => {
    const scatter = (indices: number[]): Promise<number[]> =>
      compute([1, 2, 3, 4, 5, 6], (x, graph) => {
        const like = reshape(x, [3, 2]);
        const updates = reshape(x, [3, 2]);
        return reshape(scatterAddRows(like, graph.constant(Int32Array.from(indices), [3]), updates), [6]);
      });
    expect(await scatter([2, 2, 2])).toEqual([0, 0, 0, 0, 9, 12]);
    expect(await scatter([2, 0, 2])).toEqual([3, 4, 0, 0, 6, 8]);
  });
});

describe("packing", () => {
  it("puts tokens at their places, and unpacking is its inverse", async () => {
    const layout = (graph: Graph) => splitHeads(graph.constant(Int32Array.of(0, 0, 1, 2), [2, 2]), 2);
    const flat = (x: Tensor): Tensor => reshape(x, ["values"]);
    const pack = (x: Tensor, graph: Graph): Tensor => packHeads(reshape(x, [3, 2]), layout(graph).rowAt);
    const tokens = [5, 50, 6, 60, 7, 70];
    expect(await compute(tokens, (x, graph) => flat(pack(x, graph)))).toEqual([5, 5, 6, 7, 50, 50, 60, 70]);
    const unpacked = (x: Tensor, graph: Graph): Tensor => {
      const places = layout(graph).placesOf(graph.constant(Int32Array.of(0, 2, 3), [3]));
      return flat(unpackHeads(pack(x, graph), places));
    };
    expect(await compute(tokens, unpacked)).toEqual(tokens);
  });
});
