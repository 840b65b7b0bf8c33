import type { AttributeValue } from "./onnx-model.ts";
import { type Dimension, dimension, knownDimension, type Tensor } from "./tensor.ts";

/**
 * The same values in another shape. A symbolic dimension must stand at the same axis in both shapes, or be the only
 * one of its kind: ONNX infers one dimension and copies others by place.
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
  return x.graph.node({
    operator: "Reshape",
    inputs: [x, x.graph.integers(pattern)],
    outputs: [{ type: x.type, shape }],
    gradient: ([dy]) => [() => reshape(dy!, x.shape)],
  })[0]!;
}

/** The same values in a shape that is read at run time (int64, -1 for what follows from the rest). No gradient. */
export function reshapeBy(x: Tensor, sizes: Tensor, shape: readonly Dimension[]): Tensor {
  return x.graph.node({ operator: "Reshape", inputs: [x, sizes], outputs: [{ type: x.type, shape }] })[0]!;
}

/** A matrix: axes from the last on are columns, what stands before them is rows, named `rows`. No gradient. */
export function flatten(x: Tensor, rows: Dimension): Tensor {
  return x.graph.node({
    operator: "Flatten",
    inputs: [x],
    outputs: [{ type: x.type, shape: [rows, dimension(x, -1)] }],
    attributes: { axis: x.shape.length - 1 },
  })[0]!;
}

/** Axes in another order. */
export function transpose(x: Tensor, order: readonly number[]): Tensor {
  const inverse = order.map((_, axis) => order.indexOf(axis));
  return x.graph.node({
    operator: "Transpose",
    inputs: [x],
    outputs: [{ type: x.type, shape: order.map((axis) => dimension(x, axis)) }],
    attributes: { perm: order },
    gradient: ([dy]) => [() => transpose(dy!, inverse)],
  })[0]!;
}

/** Tensors one after another along an axis; `size` is the resulting dimension. */
export function concatenate(parts: readonly Tensor[], axis: number, size: Dimension): Tensor {
  const first = parts[0]!;
  const shape = first.shape.with(axis, size);
  return first.graph.node({
    operator: "Concat",
    inputs: parts,
    outputs: [{ type: first.type, shape }],
    attributes: { axis },
    gradient: ([dy]) => {
      const sizes = parts.map((part) => knownDimension(part, axis));
      const pieces = split(dy!, axis, sizes);
      return pieces.map((piece) => () => piece);
    },
  })[0]!;
}

/** The parts of x along an axis, of the given known sizes. */
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

/** `count` parts along an axis as even as can be; the parts' sizes are named after `name`. No gradient. */
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

/** Parts of x along an axis, of sizes that are read at run time and named in the shapes. No gradient. */
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

/** A view with a new axis of size 1. */
export function expandDimension(x: Tensor, axis: number): Tensor {
  const shape = x.shape.toSpliced(axis, 0, 1);
  return x.graph.node({
    operator: "Unsqueeze",
    inputs: [x, x.graph.integers([axis])],
    outputs: [{ type: x.type, shape }],
    gradient: ([dy]) => [() => squeeze(dy!, axis)],
  })[0]!;
}

/** A view without an axis of size 1. */
export function squeeze(x: Tensor, axis: number): Tensor {
  return x.graph.node({
    operator: "Squeeze",
    inputs: [x, x.graph.integers([axis])],
    outputs: [{ type: x.type, shape: x.shape.toSpliced(axis, 1) }],
    gradient: ([dy]) => [() => expandDimension(dy!, axis)],
  })[0]!;
}

function zerosLike(x: Tensor): Tensor {
  return x.graph.node({
    operator: "Mul",
    inputs: [x, x.graph.scalar(0)],
    outputs: [{ type: x.type, shape: x.shape }],
  })[0]!;
}
