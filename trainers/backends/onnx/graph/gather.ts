import { expandDimension, filledLike, reshape, shapeOf } from "./shape.ts";
import { productOf, type Tensor } from "./tensor.ts";

/**
 * Gathers rows of a matrix by index. A (rows, width) matrix and indices of shape S give a tensor of shape (S, width).
 */
export function gatherRows(matrix: Tensor, indices: Tensor): Tensor {
  const width = matrix.shape.slice(1);
  return matrix.graph.operation("Gather", [matrix, indices], {
    type: matrix.type,
    shape: [...indices.shape, ...width],
    attributes: { axis: 0 },
    gradient: ([dy]) => [() => scatterAddRows(matrix, indices, dy!)],
  });
}

/**
 * Returns zeros in the shape of the matrix `like`, with the rows of `updates` added at `indices`. Rows with equal
 * indices are added in order. This does not use ScatterND: on the CPU, its threads add concurrently and lose updates to
 * the same row.
 */
export function scatterAddRows(like: Tensor, indices: Tensor, updates: Tensor): Tensor {
  const { graph } = like;
  const zeros = filledLike(like, 0);
  const count = productOf(indices.shape);
  const added = reshape(updates, [count, ...like.shape.slice(1)]);
  const rows = expandDimension(reshape(indices, [count]), 1);
  const places = graph.operation("Expand", [rows, shapeOf(added)], { type: indices.type, shape: added.shape });
  return graph.operation("ScatterElements", [zeros, places, added], {
    shape: like.shape,
    attributes: { axis: 0, reduction: "add" },
  });
}
