import { add, exp, multiply, subtract, unary } from "./elementwise.ts";
import type { Tensor } from "./tensor.ts";

/**
 * GELU: x P(X <= x) for a standard normal X (Hendrycks and Gimpel 2016, https://arxiv.org/abs/1606.08415). With
 * `approximate`: 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), equation 2 of the paper.
 */
export function gelu(x: Tensor, { approximate }: { readonly approximate: boolean }): Tensor {
  return x.graph.operation("Gelu", [x], {
    shape: x.shape,
    attributes: { approximate: approximate ? "tanh" : "none" },
    gradient: ([dy]) => [() => multiply(dy!, approximate ? tanhSlope(x) : normalSlope(x))],
  });
}

/** The derivative P(X <= x) + x p(x), with the density p(x) = e^(-x^2 / 2) / sqrt(2 pi). */
function normalSlope(x: Tensor): Tensor {
  const { graph } = x;
  const half = graph.scalar(0.5);
  const error = unary("Erf", multiply(x, graph.scalar(Math.SQRT1_2)));
  const density = multiply(exp(multiply(multiply(x, x), graph.scalar(-0.5))), graph.scalar(1 / Math.sqrt(2 * Math.PI)));
  return add(add(multiply(error, half), half), multiply(x, density));
}

/** The derivative 0.5 (1 + t) + 0.5 x (1 - t^2) du/dx, with t = tanh(u). */
function tanhSlope(x: Tensor): Tensor {
  const { graph } = x;
  const [half, one, cubic] = [graph.scalar(0.5), graph.scalar(1), graph.scalar(0.044715)];
  const factor = graph.scalar(Math.sqrt(2 / Math.PI));
  const square = multiply(x, x);
  const tanh = unary("Tanh", multiply(multiply(x, factor), add(multiply(square, cubic), one)));
  const inner = multiply(factor, add(multiply(square, graph.scalar(3 * 0.044715)), one));
  const bend = multiply(multiply(x, half), multiply(subtract(one, multiply(tanh, tanh)), inner));
  return add(add(multiply(tanh, half), half), bend);
}
