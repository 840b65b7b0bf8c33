import { add, divide, multiply, subtract, unary } from "./elementwise.ts";
import { rowDot } from "./linear.ts";
import { float } from "./model-proto.ts";
import { reduceSum } from "./reduction.ts";
import type { Tensor } from "./tensor.ts";

/** (x - mean(x)) / sqrt(variance(x) + epsilon) * weight + bias over the last axis (Ba et al. 2016, https://arxiv.org/abs/1607.06450). */
export function layerNorm(
  x: Tensor,
  { weight, bias, epsilon }: { readonly weight: Tensor; readonly bias: Tensor; readonly epsilon: number },
): Tensor {
  const { graph } = x;
  const width = x.shape.at(-1) as number;
  const mean = (total: Tensor): Tensor => divide(total, graph.scalar(width));
  const sum = (values: Tensor): Tensor => reduceSum(values, [-1], { keepAxes: true });
  // The backward pass computes the statistics again, because the kernels of different devices return different ones.
  let again: { readonly normed: Tensor; readonly inverse: Tensor } | undefined;
  const statistics = (): { readonly normed: Tensor; readonly inverse: Tensor } => {
    if (again !== undefined) return again;
    const centered = subtract(x, mean(sum(x)));
    const variance = mean(rowDot(centered, centered));
    const inverse = divide(graph.scalar(1), unary("Sqrt", add(variance, graph.scalar(epsilon))));
    again = { normed: multiply(centered, inverse), inverse };
    return again;
  };
  const y = graph.operation("LayerNormalization", [x, weight, bias], {
    shape: x.shape,
    attributes: { axis: -1, epsilon: float(epsilon) },
    gradient: ([dy]) => {
      const { normed, inverse } = statistics();
      // With g = dy weight: dx = (g - mean(g) - normed mean(g normed)) / sqrt(variance + epsilon).
      const byX = (): Tensor => {
        const g = multiply(dy!, weight);
        const projected = multiply(normed, mean(rowDot(g, normed)));
        return multiply(subtract(subtract(g, mean(sum(g))), projected), inverse);
      };
      const leading = x.shape.slice(0, -1).map((_, axis) => axis);
      return [byX, () => reduceSum(multiply(dy!, normed), leading), () => reduceSum(dy!, leading)];
    },
  });
  graph.recompute(y, () => add(multiply(statistics().normed, weight), bias));
  return y;
}
