import type { DecoderConfig } from "../../../model-folders/architecture/decoder-config.ts";
import { embeddingName, positionEmbeddingName } from "../../../model-folders/architecture/parameters.ts";
import { add } from "../graph/elementwise.ts";
import { gatherRows } from "../graph/gather.ts";
import type { Graph } from "../graph/graph.ts";
import type { RotaryTables } from "../graph/neural.ts";
import { reshape } from "../graph/shape.ts";
import { type Dimension, dimension, type Tensor } from "../graph/tensor.ts";
import type { GraphParameters } from "./graph-parameters.ts";

/** The positions of a graph's tokens in their sequences. */
export interface TokenPositions {
  /** int64, one for each token. */
  readonly positions: Tensor;
  /** The rotary tables. Undefined if positions are learned. */
  readonly rotary: RotaryTables | undefined;
}

/** Declares `positions` with a shape and, for rotary positions, the tables `cos` and `sin` (table, headSize / 2). */
export function positionInputs(graph: Graph, config: DecoderConfig, shape: readonly Dimension[]): TokenPositions {
  const positions = graph.input("positions", "int64", shape);
  if (config.rope === undefined) return { positions, rotary: undefined };
  const half = config.headSize / 2;
  const [cos, sin] = ["cos", "sin"].map((name) => graph.input(name, "float32", ["table", half])) as [Tensor, Tensor];
  return { positions, rotary: { positions, cos, sin } };
}

/** Embeds token ids (tokens) as the input (tokens, hiddenSize) of the first block. Adds learned positions, if any. */
export function embedTokens(
  { config, parameters }: { readonly config: DecoderConfig; readonly parameters: GraphParameters },
  ids: Tensor,
  { positions }: TokenPositions,
): Tensor {
  const embedded = gatherRows(parameters.tensor(embeddingName(config)), ids);
  const table = positionEmbeddingName(config);
  if (table === undefined) return embedded;
  return add(embedded, gatherRows(parameters.tensor(table), reshape(positions, [dimension(ids, 0)])));
}
