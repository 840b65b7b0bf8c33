import { reduceSum } from "./reduction.ts";
import { expandDimension, squeeze } from "./shape.ts";
import { dimension, type Tensor } from "./tensor.ts";

/** Picks one element per row of a matrix by column index: (rows, columns) and int32 (rows) to (rows). No gradient. */
export function pickColumns(matrix: Tensor, columns: Tensor): Tensor {
  const rows = dimension(matrix, 0);
  const picked = matrix.graph.operation("GatherElements", [matrix, expandDimension(columns, 1)], {
    shape: [rows, 1],
    attributes: { axis: 1 },
  });
  return squeeze(picked, 1);
}

/** Sums all elements to a tensor of shape (1). */
export function total(x: Tensor): Tensor {
  return expandDimension(reduceSum(x), 0);
}
