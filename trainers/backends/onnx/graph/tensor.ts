import type { Graph } from "./graph.ts";

/** A size known now, or the name of one known at run time. Equal names mean equal sizes. */
export type Dimension = number | string;

/** Element types that the engine uses. */
export type DataType = "float32" | "float16" | "int32" | "int64" | "bool";

/** One value of a graph under construction: what a node computes, an input, or a constant. */
export interface Tensor {
  readonly graph: Graph;
  readonly name: string;
  readonly type: DataType;
  readonly shape: readonly Dimension[];
}

/** The dimension at `axis`, counted from the end where negative. */
export function dimension(tensor: Tensor, axis: number): Dimension {
  const size = tensor.shape.at(axis);
  if (size === undefined)
    throw new RangeError(`Tensor ${tensor.name} of rank ${tensor.shape.length} has no axis ${axis}.`);
  return size;
}

/** A known dimension; a symbolic one is a mistake in the graph's construction. */
export function knownDimension(tensor: Tensor, axis: number): number {
  const size = dimension(tensor, axis);
  if (typeof size !== "number") throw new RangeError(`Axis ${axis} of ${tensor.name} must be known, it is "${size}".`);
  return size;
}

/** The shape two tensors broadcast to (NumPy's rules, which are ONNX's). */
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
