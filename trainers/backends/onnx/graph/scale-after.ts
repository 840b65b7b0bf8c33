import { add, multiply } from "./elementwise.ts";
import { gatherRows } from "./gather.ts";
import { reduceMax } from "./reduction.ts";
import type { Tensor } from "./tensor.ts";

/**
 * Returns a scale (1, 1) that depends on a matrix (rows, columns), so that the runtime computes what is multiplied by it
 * only after the matrix. Otherwise it computes what depends on weights alone for all layers first, and keeps it.
 */
export function scaleAfter(matrix: Tensor, scale: number): Tensor {
  const { graph } = matrix;
  const row = gatherRows(matrix, graph.constant(Int32Array.of(0), [1]));
  return add(multiply(reduceMax(row, [1], { keepAxes: true }), graph.scalar(0)), graph.scalar(scale));
}
