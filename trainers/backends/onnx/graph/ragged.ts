import { multiply } from "./elementwise.ts";
import { gatherRows } from "./gather.ts";
import { reshape } from "./shape.ts";
import type { Tensor } from "./tensor.ts";

/**
 * Where the tokens of several sequences stand. Linear layers work on (tokens, width) without padding; attention wants
 * (batch, length, width), padded on the right. Each token has one place; a place without a token names token 0.
 */
export interface RaggedLayout {
  /** (batch, length), int32: the token at each place. */
  readonly tokenAt: Tensor;
  /** (tokens), int32: the place of each token, counted over batch times length. */
  readonly placeOf: Tensor;
  /** (batch, length, 1): 1 where there is a token, 0 where there is padding. */
  readonly present: Tensor;
}

/**
 * (tokens, width) to (batch, length, width). Padding holds a copy of token 0: right for causal attention, where no
 * token looks at what follows it. Padding passes no gradient back.
 */
export function packRows(x: Tensor, layout: RaggedLayout): Tensor {
  const [batch, length] = layout.tokenAt.shape;
  const width = x.shape[1]!;
  return x.graph.node({
    operator: "Gather",
    inputs: [x, layout.tokenAt],
    outputs: [{ shape: [batch!, length!, width] }],
    attributes: { axis: 0 },
    gradient: ([dy]) => [() => gatherRows(reshape(dy!, ["places", width]), layout.placeOf)],
  })[0]!;
}

/** (batch, length, width) to (tokens, width): the reverse of {@link packRows}. The gradient of padding is 0. */
export function unpackRows(x: Tensor, layout: RaggedLayout): Tensor {
  const width = x.shape[2]!;
  const places = x.graph.node({
    operator: "Reshape",
    inputs: [x, x.graph.integers([-1, Number(width)])],
    outputs: [{ shape: ["places", width] }],
    gradient: ([dy]) => [() => dy!],
  })[0]!;
  return x.graph.node({
    operator: "Gather",
    inputs: [places, layout.placeOf],
    outputs: [{ shape: [layout.placeOf.shape[0]!, width] }],
    attributes: { axis: 0 },
    gradient: ([dy]) => [() => multiply(gatherRows(dy!, layout.tokenAt), layout.present)],
  })[0]!;
}
