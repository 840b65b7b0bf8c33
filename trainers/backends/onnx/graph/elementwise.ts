import type { GradientRule } from "./graph.ts";
import { reduceSum } from "./reduction.ts";
import { broadcastShapes, type DataType, type Tensor } from "./tensor.ts";

/** a + b, with broadcasting. */
export function add(a: Tensor, b: Tensor): Tensor {
  return binary("Add", a, b, ([dy]) => [() => unbroadcast(dy!, a), () => unbroadcast(dy!, b)]);
}

/** a - b, with broadcasting. */
export function subtract(a: Tensor, b: Tensor): Tensor {
  return binary("Sub", a, b, ([dy]) => [() => unbroadcast(dy!, a), () => negate(unbroadcast(dy!, b))]);
}

/** a * b, with broadcasting. */
export function multiply(a: Tensor, b: Tensor): Tensor {
  return binary("Mul", a, b, ([dy]) => [
    () => unbroadcast(multiply(dy!, b), a),
    () => unbroadcast(multiply(dy!, a), b),
  ]);
}

/** a / b, with broadcasting. */
export function divide(a: Tensor, b: Tensor): Tensor {
  const quotient: Tensor = binary("Div", a, b, ([dy]) => [
    () => unbroadcast(divide(dy!, b), a),
    () => unbroadcast(negate(divide(multiply(dy!, quotient), b)), b),
  ]);
  return quotient;
}

/** The smaller of a and b. If they are equal, the gradient flows to a. */
export function minimum(a: Tensor, b: Tensor): Tensor {
  const smaller = binary("Min", a, b, ([dy]) => {
    const first = (): Tensor => cast(compare("LessOrEqual", a, b), "float32");
    const second = (): Tensor => cast(compare("Less", b, a), "float32");
    return [() => unbroadcast(multiply(dy!, first()), a), () => unbroadcast(multiply(dy!, second()), b)];
  });
  return smaller;
}

/** The greater of a and b. If they are equal, the gradient flows to a. */
export function maximum(a: Tensor, b: Tensor): Tensor {
  return negate(minimum(negate(a), negate(b)));
}

/** Limits x to [low, high]. The gradient is 0 outside of the range. */
export function clip(x: Tensor, low: Tensor, high: Tensor): Tensor {
  return unary("Clip", x, [low, high], ([dy]) => {
    const above = (): Tensor => cast(compare("GreaterOrEqual", x, low), "float32");
    const below = (): Tensor => cast(compare("LessOrEqual", x, high), "float32");
    return [() => multiply(dy!, multiply(above(), below()))];
  });
}

/** -x */
export function negate(x: Tensor): Tensor {
  return unary("Neg", x, [], ([dy]) => [() => negate(dy!)]);
}

/** e^x */
export function exp(x: Tensor): Tensor {
  const y: Tensor = unary("Exp", x, [], ([dy]) => [() => multiply(dy!, y)]);
  return y;
}

/** The natural logarithm. */
export function log(x: Tensor): Tensor {
  return unary("Log", x, [], ([dy]) => [() => divide(dy!, x)]);
}

/** 1 / (1 + e^-x) */
export function sigmoid(x: Tensor): Tensor {
  const y: Tensor = unary("Sigmoid", x, [], ([dy]) => [
    () => multiply(dy!, multiply(y, subtract(x.graph.scalar(1), y))),
  ]);
  return y;
}

/** Returns x without a gradient: no gradient flows to the inputs of x. */
export function stopGradient(x: Tensor): Tensor {
  const same = { type: x.type, shape: x.shape };
  return x.graph.composite({
    name: "stopGradient",
    inputs: [],
    build: () => ({
      outputs: x.graph.node({ operator: "Identity", inputs: [x], outputs: [same] }),
      gradient: () => [],
    }),
  })[0]!;
}

/** Compares float tensors. Returns a boolean tensor. No gradient. */
export function compare(operator: "Less" | "LessOrEqual" | "Greater" | "GreaterOrEqual", a: Tensor, b: Tensor): Tensor {
  const shape = broadcastShapes(a.shape, b.shape);
  return a.graph.operation(operator, [a, b], { type: "bool", shape });
}

/** Returns a if the condition is true and b otherwise, with broadcasting. No gradient. */
export function select(condition: Tensor, a: Tensor, b: Tensor): Tensor {
  const shape = broadcastShapes(condition.shape, broadcastShapes(a.shape, b.shape));
  return a.graph.operation("Where", [condition, a, b], { type: a.type, shape });
}

const onnxTypes: Record<DataType, number> = { float32: 1, float16: 10, int32: 6, int64: 7, uint8: 2, bool: 9 };

/** Converts the values to another type. No gradient. */
export function cast(x: Tensor, type: DataType): Tensor {
  return x.graph.operation("Cast", [x], { type, shape: x.shape, attributes: { to: onnxTypes[type] } });
}

/** Sums a gradient over the axes along which `source` was broadcast. */
function unbroadcast(gradient: Tensor, source: Tensor): Tensor {
  const lead = gradient.shape.length - source.shape.length;
  const whole =
    lead === 0
      ? gradient
      : reduceSum(
          gradient,
          Array.from({ length: lead }, (_, axis) => axis),
        );
  const stretched = whole.shape.flatMap((size, axis) => (source.shape[axis] === size ? [] : [axis]));
  return stretched.length === 0 ? whole : reduceSum(whole, stretched, { keepAxes: true });
}

/** Applies an operator with one input to each number. It is differentiable if a rule is given. */
export function unary(
  operator: string,
  x: Tensor,
  parameters: readonly Tensor[] = [],
  gradient?: GradientRule,
): Tensor {
  return x.graph.operation(operator, [x, ...parameters], { shape: x.shape, gradient });
}

function binary(operator: string, a: Tensor, b: Tensor, gradient: GradientRule): Tensor {
  const shape = broadcastShapes(a.shape, b.shape);
  return a.graph.operation(operator, [a, b], { type: a.type, shape, gradient });
}
