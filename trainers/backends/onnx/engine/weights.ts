import { createHash } from "node:crypto";
import type { DecoderConfig } from "../../../model-folders/architecture/decoder-config.ts";
import type { Bits } from "../../../model-folders/architecture/quantized-parameters.ts";
import type { BaseBlock, BoundParameter, GraphPlan } from "../models/graph-parameters.ts";
import { ParameterBlock } from "../models/parameter-block.ts";
import type { QuantizedMatrix } from "../models/quantized-matrix.ts";
import { hasValueHead } from "../models/value-head.ts";
import type { Feed } from "./session.ts";

/** The weights of a model: a base and an optional adapter. */
export interface ModelWeights {
  readonly config: DecoderConfig;
  readonly base: BaseBlock;
  readonly adapter?: { readonly block: ParameterBlock; readonly scale: number };
}

/** Returns a key for the structure of graphs over these weights. Models with equal keys can share compiled graphs. */
export function structureKey(weights: ModelWeights): string {
  const bits = quantizedBits(weights);
  return `${shapeKey(weights)}${bits === undefined ? "" : `-${bits}`}`;
}

/** Returns the bits of a base. Undefined if it is float32. */
export function quantizedBits({ base }: ModelWeights): Bits | undefined {
  return base instanceof ParameterBlock ? undefined : base.bits;
}

/** True if samplers round the inputs of products by the base's matrices to 8 bits. */
export function roundsInputs({ base }: ModelWeights): boolean {
  return !(base instanceof ParameterBlock) && base.roundInputs;
}

/** Returns a key for the parameters of a model. It does not depend on the bits of its base. */
export function shapeKey({ config, base, adapter }: ModelWeights): string {
  const shapes = adapter?.block.specs.map(({ name, shape }) => `${name}[${shape.join()}]`).join();
  const content = JSON.stringify([config, shapes ?? null, adapter?.scale ?? null, hasValueHead(base)]);
  return createHash("sha256").update(content).digest("hex").slice(0, 16);
}

/** Returns the feeds of the parameters that a compiled graph reads. */
export function parameterFeeds(graph: Omit<GraphPlan, "graph">, weights: ModelWeights): Record<string, Feed> {
  const feeds: Record<string, Feed> = {};
  const add = (parameters: readonly BoundParameter[], block: BaseBlock | undefined): void => {
    for (const { name, names, shape, part } of parameters) {
      const data = part === undefined ? block!.stacked(names).data : matrixOf(block!, names[0]!)[part];
      feeds[name] = { data, shape };
    }
  };
  add(graph.baseParameters, weights.base);
  add(graph.adapterParameters, weights.adapter?.block);
  return feeds;
}

function matrixOf(block: BaseBlock, name: string): QuantizedMatrix {
  const matrix = block instanceof ParameterBlock ? undefined : block.matrix(name);
  if (matrix === undefined) throw new RangeError(`The block has no quantized matrix "${name}".`);
  return matrix;
}
