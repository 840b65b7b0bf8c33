import type { DecoderConfig } from "../../../model-folders/architecture/decoder-config.ts";
import { embeddingName, positionEmbeddingName } from "../../../model-folders/architecture/parameters.ts";
import { add, multiply } from "../graph/elementwise.ts";
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
  /** Returns the rotary tables of a layer. Undefined if it has none. */
  readonly rotaryOf: (layer: number) => RotaryTables | undefined;
}

/**
 * Declares `positions` with a shape and, for rotary positions, the tables `cos` and `sin` (table, headSize / 2). If
 * layers with a window have their own, they are `windowCos` and `windowSin`.
 */
export function positionInputs(graph: Graph, config: DecoderConfig, shape: readonly Dimension[]): TokenPositions {
  const positions = graph.input("positions", "int64", shape);
  const { rope, window, headSize } = config;
  if (rope === undefined) return { positions, rotaryOf: () => undefined };
  const table = (name: string): Tensor => graph.input(name, "float32", ["table", headSize / 2]);
  const whole = { positions, cos: table("cos"), sin: table("sin") };
  const windowed =
    rope.windowed === undefined ? whole : { positions, cos: table("windowCos"), sin: table("windowSin") };
  return {
    positions,
    rotaryOf: (layer) => {
      if (rope.layers[layer] !== true) return undefined;
      return window?.layers[layer] === true ? windowed : whole;
    },
  };
}

/** Embeds token ids (tokens) as the input (tokens, hiddenSize) of the first block. Adds learned positions, if any. */
export function embedTokens(
  { config, parameters }: { readonly config: DecoderConfig; readonly parameters: GraphParameters },
  ids: Tensor,
  { positions }: TokenPositions,
): Tensor {
  const rows = parameters.rows(embeddingName(config), ids);
  const scale = config.architecture.scaledEmbedding === true ? Math.fround(Math.sqrt(config.hiddenSize)) : undefined;
  const embedded = scale === undefined ? rows : multiply(rows, rows.graph.scalar(scale));
  const table = positionEmbeddingName(config);
  if (table === undefined) return embedded;
  return add(embedded, gatherRows(parameters.tensor(table), reshape(positions, [dimension(ids, 0)])));
}
