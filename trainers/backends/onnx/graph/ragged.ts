import { add, cast, multiply } from "./elementwise.ts";
import { gatherRows } from "./gather.ts";
import { expandDimension, reshape } from "./shape.ts";
import { knownDimension, type Tensor } from "./tensor.ts";

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

/** A {@link RaggedLayout} for tokens of several heads, whose padded form has the heads first. */
interface HeadLayout {
  /** (heads, batch, length), int32: the row at each place, counted over tokens times heads. */
  readonly rowAt: Tensor;
  /** (tokens, heads), int32: the place of each row, counted over heads times batch times length. */
  readonly placeOf: Tensor;
}

/** The places of each head's part of the tokens. */
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
 * (tokens, heads x width) to (heads, batch, places, width), by the rows at the places: (heads, batch, places). Padding
 * holds a copy of token 0: right for causal attention, where no token looks at what follows it. No gradient.
 */
export function packHeads(x: Tensor, rowAt: Tensor): Tensor {
  const width = knownDimension(x, 1) / knownDimension(rowAt, 0);
  return gatherRows(reshape(x, ["rows", width]), rowAt);
}

/** (heads, batch, length, width) to (tokens, heads x width): the reverse of {@link packHeads} of all places. No gradient. */
export function unpackHeads(x: Tensor, placeOf: Tensor): Tensor {
  const width = knownDimension(x, -1);
  const [tokens, heads] = placeOf.shape as [string, number];
  return reshape(gatherRows(reshape(x, ["places", width]), placeOf), [tokens, heads * width]);
}

/** How many elements a tensor has: int32. */
function sizeOf(x: Tensor): Tensor {
  const size = x.graph.node({ operator: "Size", inputs: [x], outputs: [{ type: "int64", shape: [] }] })[0]!;
  return cast(size, "int32");
}
