import { createHash } from "node:crypto";
import type { DecoderConfig } from "../../../model-folders/architecture/decoder-config.ts";
import type { BoundParameter, GraphPlan } from "../models/graph-parameters.ts";
import type { ParameterBlock } from "../models/parameter-block.ts";
import { hasValueHead } from "../models/value-head.ts";
import type { Feed } from "./session.ts";

/** The weights of a model: a base and an optional adapter. */
export interface ModelWeights {
  readonly config: DecoderConfig;
  readonly base: ParameterBlock;
  readonly adapter?: { readonly block: ParameterBlock; readonly scale: number };
}

/** Returns a key for the structure of graphs over these weights. Models with equal keys can share compiled graphs. */
export function structureKey({ config, base, adapter }: ModelWeights): string {
  const shapes = adapter?.block.specs.map(({ name, shape }) => `${name}[${shape.join()}]`).join();
  const content = JSON.stringify([config, shapes ?? null, adapter?.scale ?? null, hasValueHead(base)]);
  return createHash("sha256").update(content).digest("hex").slice(0, 16);
}

/** Returns the feeds of the parameters that a compiled graph reads. */
export function parameterFeeds(graph: Omit<GraphPlan, "graph">, weights: ModelWeights): Record<string, Feed> {
  const feeds: Record<string, Feed> = {};
  const add = (parameters: readonly BoundParameter[], block: ParameterBlock | undefined): void => {
    for (const { name, names, shape } of parameters) feeds[name] = { data: block!.stacked(names).data, shape };
  };
  add(graph.baseParameters, weights.base);
  add(graph.adapterParameters, weights.adapter?.block);
  return feeds;
}
