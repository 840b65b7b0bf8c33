import type { AttributeValue } from "./model-proto.ts";
import { type Dimension, dimension, knownDimension, type Tensor } from "./tensor.ts";

/**
 * Reshapes a tensor. A symbolic dimension must be at the same axis in both shapes, or be the only moved one, because
 * ONNX can infer one dimension and copies others by position.
 */
export function reshape(x: Tensor, shape: readonly Dimension[]): Tensor {
  let inferred = false;
  const pattern = shape.map((size, axis) => {
    if (typeof size === "number") return size;
    if (x.shape[axis] === size) return 0;
    if (inferred) throw new RangeError(`Cannot reshape [${x.shape.join(", ")}] to [${shape.join(", ")}].`);
    inferred = true;
    return -1;
  });
  return x.graph.operation("Reshape", [x, x.graph.integers(pattern)], {
    type: x.type,
    shape,
    gradient: ([dy]) => [() => reshape(dy!, x.shape)],
  });
}

/** Reshapes a tensor to a shape that is read at run time (int64, -1 for one inferred dimension). No gradient. */
export function reshapeBy(x: Tensor, sizes: Tensor, shape: readonly Dimension[]): Tensor {
  return x.graph.operation("Reshape", [x, sizes], { type: x.type, shape });
}

/** Flattens all axes but the last to one axis with the size `rows`. No gradient. */
export function flatten(x: Tensor, rows: Dimension): Tensor {
  return x.graph.operation("Flatten", [x], {
    type: x.type,
    shape: [rows, dimension(x, -1)],
    attributes: { axis: x.shape.length - 1 },
  });
}

/** Reorders the axes. */
export function transpose(x: Tensor, order: readonly number[]): Tensor {
  const inverse = order.map((_, axis) => order.indexOf(axis));
  return x.graph.operation("Transpose", [x], {
    type: x.type,
    shape: order.map((axis) => dimension(x, axis)),
    attributes: { perm: order },
    gradient: ([dy]) => [() => transpose(dy!, inverse)],
  });
}

/** Concatenates tensors along an axis. `size` is the resulting dimension. */
export function concatenate(parts: readonly Tensor[], axis: number, size: Dimension): Tensor {
  const first = parts[0]!;
  const shape = first.shape.with(axis, size);
  return first.graph.operation("Concat", parts, {
    type: first.type,
    shape,
    attributes: { axis },
    gradient: ([dy]) => {
      const sizes = parts.map((part) => knownDimension(part, axis));
      const pieces = split(dy!, axis, sizes);
      return pieces.map((piece) => () => piece);
    },
  });
}

/** Splits x along an axis into parts of known sizes. */
export function split(x: Tensor, axis: number, sizes: readonly number[]): Tensor[] {
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const parts: Tensor[] = x.graph.node({
    operator: "Split",
    inputs: [x, x.graph.integers(sizes)],
    outputs: sizes.map((size) => ({ type: x.type, shape: x.shape.with(axis, size) })),
    attributes: { axis },
    gradient: (gradients) => [
      () =>
        concatenate(
          gradients.map((gradient, i) => gradient ?? zerosLike(parts[i]!)),
          axis,
          total,
        ),
    ],
  });
  return parts;
}

/**
 * Splits x along an axis into `count` parts of equal size (the last may be smaller). The sizes in the shapes are named
 * `name` plus an index. No gradient.
 */
export function splitEvenly(x: Tensor, options: { axis: number; count: number; name: string }): Tensor[] {
  const { axis, count, name } = options;
  if (count === 1) return [x];
  const attributes: Record<string, AttributeValue> = { axis, num_outputs: count };
  return x.graph.node({
    operator: "Split",
    inputs: [x],
    outputs: Array.from({ length: count }, (_, i) => ({ type: x.type, shape: x.shape.with(axis, `${name}${i}`) })),
    attributes,
  });
}

/** Splits x along an axis into parts whose sizes are read at run time and named in the shapes. No gradient. */
export function splitBy(
  x: Tensor,
  axis: number,
  { sizes, names }: { readonly sizes: Tensor; readonly names: readonly Dimension[] },
): Tensor[] {
  return x.graph.node({
    operator: "Split",
    inputs: [x, sizes],
    outputs: names.map((size) => ({ type: x.type, shape: x.shape.with(axis, size) })),
    attributes: { axis },
  });
}

/** Returns the first `count` (int64, shape (1), at least 1) rows along an axis, named `name` in the shape. No gradient. */
export function firstRows(
  x: Tensor,
  options: { readonly axis: number; readonly count: Tensor; readonly name: string },
): Tensor {
  const { axis, count, name } = options;
  const inputs = [x, x.graph.integers([0]), count, x.graph.integers([axis])];
  return x.graph.operation("Slice", inputs, { type: x.type, shape: x.shape.with(axis, name) });
}

/**
 * Returns the zeros to append to each axis of a tensor shaped like `from`, so that it is shaped like `to` (int64, shape
 * (rank)). Axes after those of `from` keep their sizes up to the rank.
 */
export function growth(from: Tensor, to: Tensor, rank: number): Tensor {
  const axes = from.shape.length;
  const added = from.graph.operation("Sub", [shapeOf(to), shapeOf(from)], { type: "int64", shape: [axes] });
  const rest = from.graph.integers(Array.from({ length: rank - axes }, () => 0));
  return rank === axes ? added : concatenate([added, rest], 0, rank);
}

/** Appends zeros to each axis: see {@link growth}. `shape` is the resulting shape. No gradient. */
export function padEnds(x: Tensor, added: Tensor, shape: readonly Dimension[]): Tensor {
  const rank = x.shape.length;
  const pads = concatenate([x.graph.integers(x.shape.map(() => 0)), added], 0, 2 * rank);
  return x.graph.operation("Pad", [x, pads], { type: x.type, shape });
}

/** Inserts an axis of size 1. */
export function expandDimension(x: Tensor, axis: number): Tensor {
  const shape = x.shape.toSpliced(axis, 0, 1);
  return x.graph.operation("Unsqueeze", [x, x.graph.integers([axis])], {
    type: x.type,
    shape,
    gradient: ([dy]) => [() => squeeze(dy!, axis)],
  });
}

/** Removes an axis of size 1. */
export function squeeze(x: Tensor, axis: number): Tensor {
  return x.graph.operation("Squeeze", [x, x.graph.integers([axis])], {
    type: x.type,
    shape: x.shape.toSpliced(axis, 1),
    gradient: ([dy]) => [() => expandDimension(dy!, axis)],
  });
}

function zerosLike(x: Tensor): Tensor {
  return x.graph.operation("Mul", [x, x.graph.scalar(0)], { type: x.type, shape: x.shape });
}

/** Returns the shape of a tensor as a tensor of integers. */
export function shapeOf(x: Tensor): Tensor {
  return x.graph.operation("Shape", [x], { type: "int64", shape: [x.shape.length] });
}

/** Returns a tensor of the same shape in which every number is `value`. */
export function filledLike(x: Tensor, value: number): Tensor {
  return expandLike(x.graph.scalar(value), x);
}

/** Broadcasts x to the shape of another tensor. No gradient. */
export function expandLike(x: Tensor, like: Tensor): Tensor {
  return x.graph.operation("Expand", [x, shapeOf(like)], { shape: like.shape });
}
