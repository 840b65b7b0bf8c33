import type { Graph } from "../graph/graph.ts";
import type { RotaryTables } from "../graph/neural.ts";
import type { RaggedLayout } from "../graph/ragged.ts";
import type { Tensor } from "../graph/tensor.ts";
import type { DecoderConfig } from "./decoder-config.ts";

/** What a graph over whole sequences reads. */
export interface SequenceInputs {
  readonly ids: Tensor;
  readonly rotary: RotaryTables;
  readonly layout: RaggedLayout;
  readonly mask: Tensor;
}

/**
 * Declares the inputs `ids` (tokens), `positions` (1, tokens), `cos` and `sin` (table, headSize / 2), `tokenAt`,
 * `placeOf`, `present` of the ragged layout, and the causal `mask`.
 */
export function sequenceInputs(graph: Graph, config: DecoderConfig): SequenceInputs {
  return {
    ids: graph.input("ids", "int32", ["tokens"]),
    rotary: rotaryInputs(graph, config, "tokens"),
    layout: {
      tokenAt: graph.input("tokenAt", "int32", ["batch", "length"]),
      placeOf: graph.input("placeOf", "int32", ["tokens"]),
      present: graph.input("present", "float32", ["batch", "length", 1]),
    },
    mask: graph.input("mask", "float32", ["length", config.heads / config.keyValueHeads, "length"]),
  };
}

/** Declares `positions` (1, tokens) and the tables `cos`, `sin` (table, headSize / 2). */
function rotaryInputs(graph: Graph, config: DecoderConfig, tokens: string): RotaryTables {
  const half = config.headSize / 2;
  return {
    positions: graph.input("positions", "int64", [1, tokens]),
    cos: graph.input("cos", "float32", ["table", half]),
    sin: graph.input("sin", "float32", ["table", half]),
  };
}
