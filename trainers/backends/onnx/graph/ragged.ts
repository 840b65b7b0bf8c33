import { add, cast, multiply } from "./elementwise.ts";
import { gatherRows } from "./gather.ts";
import { expandDimension, reshape } from "./shape.ts";
import { knownDimension, type Tensor } from "./tensor.ts";

/**
 * Maps the tokens of several sequences to padded positions. Linear layers work on (tokens, width) without padding.
 * Attention works on (batch, length, width), padded on the right. Each token has one place. A place without a token
 * refers to token 0.
 */
export interface RaggedLayout {
  /** (batch, length), int32: the token at each place. */
  readonly tokenAt: Tensor;
  /** (tokens), int32: the place of each token, as an index into batch x length. */
  readonly placeOf: Tensor;
  /** (batch, length, 1): 1 for tokens, 0 for padding. */
  readonly present: Tensor;
}

/** A {@link RaggedLayout} for tokens with several heads. The padded form has the head axis first. */
interface HeadLayout {
  /** (heads, batch, length), int32: the row at each place, as an index into tokens x heads. */
  readonly rowAt: Tensor;
  /** (tokens, heads), int32: the place of each row, as an index into heads x batch x length. */
  readonly placeOf: Tensor;
}

/** Returns the layout of the tokens split by head. */
export function splitHeads(layout: RaggedLayout, heads: number): HeadLayout {
  const { tokenAt, placeOf } = layout;
  const { graph } = tokenAt;
  const head = graph.constant(
    Int32Array.from({ length: heads }, (_, i) => i),
    [heads],
  );
  const firstRow = multiply(expandDimension(tokenAt, 0), graph.constant(Int32Array.of(heads), []));
  const perHead = multiply(head, sizeOf(tokenAt));
  return {
    rowAt: add(firstRow, reshape(head, [heads, 1, 1])),
    placeOf: add(expandDimension(placeOf, 1), perHead),
  };
}

/**
 * Pads (tokens, heads x width) to (heads, batch, places, width). `rowAt` has the shape (heads, batch, places). Padding
 * contains copies of token 0, which is correct for causal attention: no token attends to later ones. No gradient.
 */
export function packHeads(x: Tensor, rowAt: Tensor): Tensor {
  const width = knownDimension(x, 1) / knownDimension(rowAt, 0);
  return gatherRows(reshape(x, ["rows", width]), rowAt);
}

/**
 * Removes the padding: (heads, batch, length, width) to (tokens, heads x width). The inverse of {@link packHeads} for
 * all places. No gradient.
 */
export function unpackHeads(x: Tensor, placeOf: Tensor): Tensor {
  const width = knownDimension(x, -1);
  const [tokens, heads] = placeOf.shape as [string, number];
  return reshape(gatherRows(reshape(x, ["places", width]), placeOf), [tokens, heads * width]);
}

/** Returns the number of elements of a tensor, int32. */
function sizeOf(x: Tensor): Tensor {
  const size = x.graph.operation("Size", [x], { type: "int64", shape: [] });
  return cast(size, "int32");
}
