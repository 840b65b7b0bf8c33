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
  const width = x.shape.at(-1) as number;
  return x.graph.operation("LayerNormalization", [x, weight, bias], {
    shape: x.shape,
    attributes: { axis: -1, epsilon: float(epsilon) },
    gradient: ([dy]) => {
      // The statistics are recomputed, because the kernels of different devices return different statistics.
      const mean = (total: Tensor): Tensor => divide(total, x.graph.scalar(width));
      const sum = (values: Tensor): Tensor => reduceSum(values, [-1], { keepAxes: true });
      const centered = subtract(x, mean(sum(x)));
      const variance = mean(rowDot(centered, centered));
      const inverse = divide(x.graph.scalar(1), unary("Sqrt", add(variance, x.graph.scalar(epsilon))));
      const normed = multiply(centered, inverse);
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
}
