import { availableParallelism } from "node:os";
import { GraphSession } from "../trainers/backends/onnx/engine/session.ts";
import { Graph } from "../trainers/backends/onnx/graph/graph.ts";
import { matrixProduct } from "../trainers/backends/onnx/graph/linear.ts";
import { reduceMax } from "../trainers/backends/onnx/graph/reduction.ts";

/** Returns the best rate of several square matrix products, from 1024 to 4096, on every core, in FLOP per second. */
export async function productCeiling(): Promise<number> {
  let best = 0;
  for (const size of [1024, 1536, 2048, 3072, 4096]) {
    const graph = new Graph();
    const a = graph.input("a", "float32", [size, size]);
    const b = graph.input("b", "float32", [size, size]);
    graph.output("y", reduceMax(matrixProduct(a, b), [0, 1]));
    await using session = await GraphSession.create(graph, { device: "cpu", threads: availableParallelism() });
    const feed = { data: new Float32Array(size * size).fill(0.5), shape: [size, size] };
    const seconds = await fastest(size > 2048 ? 3 : 6, () => session.run({ a: feed, b: feed }));
    best = Math.max(best, (2 * size ** 3) / seconds);
  }
  return best;
}

/**
 * Returns the bytes per second that all cores together read from memory. It reduces half a gigabyte, many times larger
 * than any cache, to the maxima of its rows in one pass.
 */
export async function readCeiling(): Promise<number> {
  const rows = 256;
  const columns = 524_288;
  const graph = new Graph();
  const x = graph.input("x", "float32", [rows, columns]);
  graph.output("y", reduceMax(x, [1]));
  await using session = await GraphSession.create(graph, { device: "cpu", threads: availableParallelism() });
  const feed = { data: new Float32Array(rows * columns).fill(1), shape: [rows, columns] };
  const seconds = await fastest(8, () => session.run({ x: feed }));
  return (4 * rows * columns) / seconds;
}

/** Returns the lowest seconds of several runs, after one uncounted run. */
export async function fastest(runs: number, run: () => Promise<unknown>): Promise<number> {
  await run();
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < runs; i++) {
    const start = performance.now();
    await run();
    best = Math.min(best, (performance.now() - start) / 1000);
  }
  return best;
}
