import { add, cast, multiply } from "./elementwise.ts";
import { gatherRows } from "./gather.ts";
import { expandDimension, reshape } from "./shape.ts";
import { dimension, knownDimension, productOf, type Tensor } from "./tensor.ts";

/**
 * Maps the tokens of several sequences to padded positions. Linear layers work on (tokens, width) without padding.
 * Attention works on (batch, length, width), padded on the right. A place without a token refers to token 0.
 */
export interface RaggedLayout {
  /** (batch, length), int32: the token at each place. */
  readonly tokenAt: Tensor;
  /** (tokens), int32: the place of each token, as an index into batch x length. Of a shared token: one of its places. */
  readonly placeOf: Tensor;
  /** (batch, length, 1): 1 for the places of `placeOf`, 0 for padding and the other places of shared tokens. */
  readonly present: Tensor;
  /** Present if sequences may share tokens. */
  readonly shared?: SharedPlaces | undefined;
}

/** The places of the tokens that several sequences share. They are the first tokens. */
export interface SharedPlaces {
  /** (shared, copies), int32: all places of each shared token. If it has fewer, the rest is any place. */
  readonly places: Tensor;
  /** (shared, copies, 1): 1 for places, 0 for the rest. */
  readonly present: Tensor;
  /** (own), int32: the place of each of the other tokens. */
  readonly ownPlaceOf: Tensor;
  /** (blocks), int64: the number of rows with a place of `placeOf` in each block of the length, or in an earlier one. */
  readonly blockRows: Tensor;
}

/** A {@link RaggedLayout} for tokens with several heads. The padded form has the head axis first. */
interface HeadLayout {
  /** (heads, batch, length), int32: the row at each place, as an index into tokens x heads. */
  readonly rowAt: Tensor;
  /** Returns the places of all heads of tokens (...) as (..., heads), indices into heads x batch x length. */
  readonly placesOf: (places: Tensor) => Tensor;
}

/** Returns the layout of the tokens at (batch, length) split by head. */
export function splitHeads(tokenAt: Tensor, heads: number): HeadLayout {
  const { graph } = tokenAt;
  const head = graph.constant(
    Int32Array.from({ length: heads }, (_, i) => i),
    [heads],
  );
  const firstRow = multiply(expandDimension(tokenAt, 0), graph.constant(Int32Array.of(heads), []));
  const perHead = multiply(head, sizeOf(tokenAt));
  return {
    rowAt: add(firstRow, reshape(head, [heads, 1, 1])),
    placesOf: (places) => add(expandDimension(places, places.shape.length), perHead),
  };
}

/**
 * Pads (tokens, heads x width) to (heads, batch, places, width). `rowAt` has the shape (heads, batch, places). Padding
 * contains copies of token 0, which is correct for causal attention: no token attends to later ones. No gradient.
 */
export function packHeads(x: Tensor, rowAt: Tensor): Tensor {
  const heads = knownDimension(rowAt, 0);
  const rows = productOf([heads, dimension(x, 0)]);
  return gatherRows(reshape(x, [rows, knownDimension(x, 1) / heads]), rowAt);
}

/**
 * Removes the padding: (heads, batch, length, width) to (..., heads x width), for the places (..., heads) of tokens. The
 * inverse of {@link packHeads} for all places. No gradient.
 */
export function unpackHeads(x: Tensor, places: Tensor): Tensor {
  const width = knownDimension(x, -1);
  const tokens = places.shape.slice(0, -1);
  const rows = reshape(x, [productOf(x.shape.slice(0, -1)), width]);
  return reshape(gatherRows(rows, places), [...tokens, knownDimension(places, -1) * width]);
}

/** Returns the number of elements of a tensor, int32. */
function sizeOf(x: Tensor): Tensor {
  const size = x.graph.operation("Size", [x], { type: "int64", shape: [] });
  return cast(size, "int32");
}
