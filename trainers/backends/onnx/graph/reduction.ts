import type { GradientRule } from "./graph.ts";
import { expandDimension, expandLike } from "./shape.ts";
import type { Dimension, Tensor } from "./tensor.ts";

interface ReductionOptions {
  /** Keeps reduced axes with size 1. */
  readonly keepAxes?: boolean;
}

/** Sums over some axes (all if absent). */
export function reduceSum(x: Tensor, axes?: readonly number[], options: ReductionOptions = {}): Tensor {
  return reduce("ReduceSum", x, axes, options);
}

/** The maximum over some axes. No gradient. */
export function reduceMax(x: Tensor, axes: readonly number[], options: ReductionOptions = {}): Tensor {
  return reduce("ReduceMax", x, axes, options);
}

function reduce(
  operator: "ReduceSum" | "ReduceMax",
  x: Tensor,
  axes: readonly number[] | undefined,
  { keepAxes = false }: ReductionOptions,
): Tensor {
  const rank = x.shape.length;
  const reduced = new Set((axes ?? x.shape.map((_, i) => i)).map((axis) => (axis < 0 ? axis + rank : axis)));
  const shape: Dimension[] = keepAxes
    ? x.shape.map((size, axis) => (reduced.has(axis) ? 1 : size))
    : x.shape.filter((_, axis) => !reduced.has(axis));
  const places = [...reduced].sort((a, b) => a - b);
  const spread = (dy: Tensor): Tensor => (keepAxes ? dy : places.reduce(expandDimension, dy));
  const sumRule: GradientRule = ([dy]) => [() => expandLike(spread(dy!), x)];
  return x.graph.operation(operator, axes === undefined ? [x] : [x, x.graph.integers(places)], {
    shape,
    attributes: { keepdims: keepAxes ? 1 : 0 },
    gradient: operator === "ReduceSum" ? sumRule : undefined,
  });
}
