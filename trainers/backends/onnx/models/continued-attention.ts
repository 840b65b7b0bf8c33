import type { DecoderConfig } from "../../../model-folders/architecture/decoder-config.ts";
import { add } from "../graph/elementwise.ts";
import type { Graph } from "../graph/graph.ts";
import { batchedProduct } from "../graph/linear.ts";
import { softmax } from "../graph/neural.ts";
import { packHeads, type RaggedLayout, splitHeads, unpackHeads } from "../graph/ragged.ts";
import { concatenate, expandDimension, flatten, reshape, splitBy, transpose } from "../graph/shape.ts";
import { type Dimension, knownDimension, type Tensor } from "../graph/tensor.ts";
import type { Attention } from "./decoder.ts";

/**
 * Causal attention of new tokens to cached tokens of their sequences and to each other, on a padded batch.
 *
 * Inputs of the graph:
 * - `prefixMask` (batch, 1, 1, 1, capacity): 0 for filled places, minus infinity for the rest.
 * - `prefixKeys.<n>` per layer: (batch, keyValueHeads, 1, headSize, capacity).
 * - `prefixValues.<n>` per layer: (batch, keyValueHeads, 1, capacity, headSize).
 * - `prefixWindowMask` (batch, 1, 1, length x group, capacity), which layers with a window read in place of the mask.
 * - `spans`: [capacity, length].
 */
export function continuedAttention(
  graph: Graph,
  { keyValueHeads, headSize, window }: DecoderConfig,
  inputs: {
    readonly layout: RaggedLayout;
    /** Returns a layer's mask of the new tokens (length, group, length). */
    readonly maskOf: (layer: number) => Tensor;
  },
): Attention {
  const { rowAt, placesOf } = splitHeads(inputs.layout.tokenAt, keyValueHeads);
  const places = placesOf(inputs.layout.placeOf);
  const scale = 1 / Math.sqrt(headSize);
  const prefixMask = graph.input("prefixMask", "float32", ["batch", 1, 1, 1, "prefix"]);
  const prefixWindowMask = window && graph.input("prefixWindowMask", "float32", ["batch", 1, 1, "queries", "prefix"]);
  const spans = graph.input("spans", "int64", [2]);
  /** Returns (batch, keyValueHeads, 1, rows, headSize). */
  const pack = (x: Tensor, rows: Dimension): Tensor => {
    const bySequence = transpose(packHeads(x, rowAt), [1, 0, 2, 3]);
    return expandDimension(reshape(bySequence, ["batch", keyValueHeads, rows, headSize]), 2);
  };
  return ({ layer, queries, keys, values }) => {
    const cache = (name: string, ...shape: readonly Dimension[]): Tensor =>
      graph.input(`${name}.${layer}`, "float32", ["batch", keyValueHeads, 1, ...shape]);
    const [q, k, v] = [pack(queries, "queries"), pack(keys, "length"), pack(values, "length")];
    const mask = window?.layers[layer] === true ? prefixWindowMask! : prefixMask;
    const scores = [
      add(batchedProduct(q, cache("prefixKeys", headSize, "prefix"), { scale }), mask),
      add(batchedProduct(q, k, { transposeB: true, scale }), flatten(inputs.maskOf(layer), "queries")),
    ];
    const sizes = { sizes: spans, names: ["prefix", "length"] };
    const [ofPrefix, ofNew] = splitBy(softmax(concatenate(scores, 4, "context")), 4, sizes) as [Tensor, Tensor];
    const mixed = add(batchedProduct(ofPrefix, cache("prefixValues", "prefix", headSize)), batchedProduct(ofNew, v));
    const width = knownDimension(queries, 1) / keyValueHeads;
    const byToken = reshape(mixed, ["batch", keyValueHeads, "length", width]);
    return unpackHeads(transpose(byToken, [1, 0, 2, 3]), places);
  };
}
