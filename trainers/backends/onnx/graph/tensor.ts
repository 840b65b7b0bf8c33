import type { Graph } from "./graph.ts";

/** A known size, or the name of a size that is known at run time. Equal names mean equal sizes. */
export type Dimension = number | string;

/** The element types of the engine. */
export type DataType = "float32" | "float16" | "int32" | "int64" | "uint8" | "bool";

/** A value of a graph: the output of a node, an input, or a constant. */
export interface Tensor {
  readonly graph: Graph;
  readonly name: string;
  readonly type: DataType;
  readonly shape: readonly Dimension[];
}

/** Returns the dimension at `axis`. A negative axis counts from the end. */
export function dimension(tensor: Tensor, axis: number): Dimension {
  const size = tensor.shape.at(axis);
  if (size === undefined)
    throw new RangeError(`Tensor ${tensor.name} of rank ${tensor.shape.length} has no axis ${axis}.`);
  return size;
}

/** Returns a known dimension. Throws a RangeError for a symbolic one. */
export function knownDimension(tensor: Tensor, axis: number): number {
  const size = dimension(tensor, axis);
  if (typeof size !== "number")
    throw new RangeError(`Axis ${axis} of ${tensor.name} must be known, but it is "${size}".`);
  return size;
}

/** Returns the product of dimensions. Symbolic ones give a name, which is the same for the same dimensions. */
export function productOf(dimensions: readonly Dimension[]): Dimension {
  const known = dimensions.filter((size) => typeof size === "number").reduce((product, size) => product * size, 1);
  const names = dimensions.filter((size) => typeof size === "string");
  if (names.length === 0) return known;
  return [...(known === 1 ? [] : [known]), ...names].join("*");
}

/** Returns the shape that two tensors broadcast to, by the rules of NumPy and ONNX. */
export function broadcastShapes(a: readonly Dimension[], b: readonly Dimension[]): Dimension[] {
  const rank = Math.max(a.length, b.length);
  return Array.from({ length: rank }, (_, i) => {
    const first = a[a.length - rank + i] ?? 1;
    const second = b[b.length - rank + i] ?? 1;
    if (first === second || second === 1) return first;
    if (first === 1) return second;
    throw new RangeError(`Shapes [${a.join(", ")}] and [${b.join(", ")}] do not broadcast.`);
  });
}
