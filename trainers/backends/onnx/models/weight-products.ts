import { add } from "../graph/elementwise.ts";
import { batchedProduct, matrixProduct } from "../graph/linear.ts";
import { transpose } from "../graph/shape.ts";
import type { Tensor } from "../graph/tensor.ts";

/** x weight^T + addend: (rows, inputs) by (outputs, inputs) gives (rows, outputs). The weights are the right side. */
export function productWithWeights(x: Tensor, weight: Tensor, addend?: Tensor): Tensor {
  return matrixProduct(x, weight, { transposeB: true, addend });
}

/**
 * The same with the weights as the left side, which is never copied: for ten or so rows nearly twice as fast on a CPU.
 * Not by Gemm: the runtime would fuse the transposition into it and have the weights on the right again.
 */
export function productByWeights(x: Tensor, weight: Tensor, addend?: Tensor): Tensor {
  const product = transpose(batchedProduct(weight, x, { transposeB: true }), [1, 0]);
  return addend === undefined ? product : add(product, addend);
}
