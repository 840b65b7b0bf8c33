import type { Tensor } from "./tensor.ts";

/** Rows of a matrix by index: (rows, width) by indices of any shape gives indices' shape plus width. */
export function gatherRows(matrix: Tensor, indices: Tensor): Tensor {
  const width = matrix.shape.slice(1);
  return matrix.graph.node({
    operator: "Gather",
    inputs: [matrix, indices],
    outputs: [{ type: matrix.type, shape: [...indices.shape, ...width] }],
    attributes: { axis: 0 },
    gradient: ([dy]) => [() => scatterAddRows(matrix, indices, dy!)],
  })[0]!;
}

/** Zeros in the shape of `like`, with the rows of `updates` added at `indices`; equal indices add up. */
export function scatterAddRows(like: Tensor, indices: Tensor, updates: Tensor): Tensor {
  const { graph } = like;
  const shape = graph.node({
    operator: "Shape",
    inputs: [like],
    outputs: [{ type: "int64", shape: [like.shape.length] }],
  })[0]!;
  const zeros = graph.node({
    operator: "Expand",
    inputs: [graph.scalar(0), shape],
    outputs: [{ shape: like.shape }],
  })[0]!;
  const places = graph.node({
    operator: "Cast",
    inputs: [indices],
    outputs: [{ type: "int64", shape: indices.shape }],
    attributes: { to: 7 },
  })[0]!;
  const nested = graph.node({
    operator: "Unsqueeze",
    inputs: [places, graph.integers([-1])],
    outputs: [{ type: "int64", shape: [...indices.shape, 1] }],
  })[0]!;
  return graph.node({
    operator: "ScatterND",
    inputs: [zeros, nested, updates],
    outputs: [{ shape: like.shape }],
    attributes: { reduction: "add" },
  })[0]!;
}
