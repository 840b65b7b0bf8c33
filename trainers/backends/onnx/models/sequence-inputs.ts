import type { DecoderConfig } from "../../../model-folders/architecture/decoder-config.ts";
import type { Graph } from "../graph/graph.ts";
import type { RaggedLayout, SharedPlaces } from "../graph/ragged.ts";
import type { Tensor } from "../graph/tensor.ts";
import { positionInputs, type TokenPositions } from "./positions.ts";

/** The inputs of a graph over whole sequences. */
export interface SequenceInputs {
  readonly ids: Tensor;
  readonly positions: TokenPositions;
  readonly layout: RaggedLayout;
  /** Returns a layer's mask: the causal mask, limited to the layer's window if it has one. */
  readonly maskOf: (layer: number) => Tensor;
}

/**
 * Declares the inputs `ids` (tokens), those of {@link positionInputs} with the shape (1, tokens), `tokenAt`, `placeOf`
 * and `present` of the ragged layout, the causal `mask` and, if layers have a window, `windowMask`. With `sharedBlocks`,
 * the number of blocks of attention, sequences may share tokens: `copyPlaces`, `copyPresent`, `ownPlaceOf` and
 * `blockRows` of {@link SharedPlaces}.
 */
export function sequenceInputs(
  graph: Graph,
  config: DecoderConfig,
  { sharedBlocks }: { readonly sharedBlocks?: number | undefined } = {},
): SequenceInputs {
  const mask = (name: string): Tensor =>
    graph.input(name, "float32", ["length", config.heads / config.keyValueHeads, "length"]);
  const whole = mask("mask");
  const windowed = config.window === undefined ? whole : mask("windowMask");
  return {
    ids: graph.input("ids", "int32", ["tokens"]),
    positions: positionInputs(graph, config, [1, "tokens"]),
    layout: {
      tokenAt: graph.input("tokenAt", "int32", ["batch", "length"]),
      placeOf: graph.input("placeOf", "int32", ["tokens"]),
      present: graph.input("present", "float32", ["batch", "length", 1]),
      shared: sharedBlocks === undefined ? undefined : sharedPlaces(graph, sharedBlocks),
    },
    maskOf: (layer) => (config.window?.layers[layer] === true ? windowed : whole),
  };
}

function sharedPlaces(graph: Graph, blocks: number): SharedPlaces {
  return {
    places: graph.input("copyPlaces", "int32", ["shared", "copies"]),
    present: graph.input("copyPresent", "float32", ["shared", "copies", 1]),
    ownPlaceOf: graph.input("ownPlaceOf", "int32", ["own"]),
    blockRows: graph.input("blockRows", "int64", [blocks]),
  };
}
