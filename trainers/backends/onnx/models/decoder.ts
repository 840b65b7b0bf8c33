import { unpackBits } from "../graph/bits.ts";
import { add, select } from "../graph/elementwise.ts";
import { gatherRows } from "../graph/gather.ts";
import { type RotaryTables, rmsNorm, rotate, swiglu } from "../graph/neural.ts";
import { reshape } from "../graph/shape.ts";
import { dimension, knownDimension, type Tensor } from "../graph/tensor.ts";
import type { DecoderConfig } from "./decoder-config.ts";
import type { GraphParameters } from "./graph-parameters.ts";
import { adaptedLayers, type LinearLayer, maskedLayers, mergedLayers, plainLayers } from "./linear-layers.ts";
import { loraA, loraB, loraDropout } from "./lora.ts";
import { attentionInputs, embeddingName, finalNormName, mlpInputs, moduleName } from "./parameters.ts";

/** What a decoder is built from. */
export interface DecoderParts {
  readonly config: DecoderConfig;
  readonly parameters: GraphParameters;
  readonly adapter?: {
    readonly parameters: GraphParameters;
    readonly scale: number;
    /** Layers whose adapters are added to their weights: see {@link mergedLayers}. None by default. */
    readonly merged?: ReadonlySet<string>;
    /** The share of each adapter's inputs that is dropped, by masks that are inputs of the graph. None by default. */
    readonly dropout?: number | undefined;
  };
}

/** Queries (tokens, heads x headSize), keys and values (tokens, keyValueHeads x headSize) of one layer. */
export interface AttentionInputs {
  readonly layer: number;
  readonly queries: Tensor;
  readonly keys: Tensor;
  readonly values: Tensor;
}

/** Mixes values by attention: (tokens, heads x headSize). */
export type Attention = (inputs: AttentionInputs) => Tensor;

/**
 * The body of a decoder: token ids (tokens) to the normed hidden states (tokens, hiddenSize) that the output head
 * reads. Attention is the caller's: over padded batches in training, over a cache in decoding.
 */
export function decoderBody(
  parts: DecoderParts,
  inputs: { readonly ids: Tensor; readonly rotary: RotaryTables; readonly attention: Attention },
): Tensor {
  const { config, parameters } = parts;
  const norm = (x: Tensor, name: string): Tensor => rmsNorm(x, parameters.tensor(name), config.normEpsilon);
  let hidden = gatherRows(parameters.tensor(embeddingName), inputs.ids);
  for (let layer = 0; layer < config.layers; layer++) {
    const block = `model.layers.${layer}`;
    const attended = norm(hidden, `${block}.input_layernorm.weight`);
    let [queries, keys, values] = linear(parts, layer, attentionInputs, attended) as [Tensor, Tensor, Tensor];
    if (config.queryKeyNorm) {
      queries = headNorm(parts, queries, config.heads, `${block}.self_attn.q_norm.weight`);
      keys = headNorm(parts, keys, config.keyValueHeads, `${block}.self_attn.k_norm.weight`);
    }
    if (config.ropeLayers[layer]) {
      queries = rotate(queries, config.heads, inputs.rotary);
      keys = rotate(keys, config.keyValueHeads, inputs.rotary);
    }
    const mixed = inputs.attention({ layer, queries, keys, values });
    hidden = add(hidden, linear(parts, layer, ["o_proj"], mixed)[0]!);
    const fed = norm(hidden, `${block}.post_attention_layernorm.weight`);
    const [gate, up] = linear(parts, layer, mlpInputs, fed) as [Tensor, Tensor];
    hidden = add(hidden, linear(parts, layer, ["down_proj"], swiglu(gate, up))[0]!);
  }
  return norm(hidden, finalNormName);
}

/** (tokens, inputs): 0 where an input of an adapter is dropped, else what keeps the mean (Srivastava et al. 2014). */
function dropoutMask(options: {
  readonly x: Tensor;
  readonly layer: number;
  readonly projection: string;
  readonly rate: number;
}): Tensor {
  const { x, layer, projection, rate } = options;
  const { graph } = x;
  const inputs = knownDimension(x, 1);
  const words = graph.input(loraDropout(layer, projection), "int32", ["tokens", Math.ceil(inputs / 32)]);
  return select(unpackBits(words, inputs), graph.scalar(1 / (1 - rate)), graph.scalar(0));
}

/** Linear layers that read the same input, with their biases and adapters. */
function linear(parts: DecoderParts, layer: number, projections: readonly string[], x: Tensor): readonly Tensor[] {
  const { parameters, adapter } = parts;
  const layers = projections.map((projection): LinearLayer => {
    const [weight, bias] = [`${moduleName(layer, projection)}.weight`, `${moduleName(layer, projection)}.bias`];
    return {
      weight: parameters.tensor(weight),
      bias: parameters.has(bias) ? parameters.tensor(bias) : undefined,
      b: adapter?.parameters.has(loraB(layer, projection))
        ? adapter.parameters.tensor(loraB(layer, projection))
        : undefined,
    };
  });
  const adapted = projections.filter((_, i) => layers[i]!.b !== undefined);
  if (adapter === undefined || adapted.length === 0) return plainLayers(x, layers);
  if (adapter.dropout !== undefined) {
    const inputs = projections.map((projection, i) =>
      layers[i]!.b === undefined
        ? undefined
        : {
            a: adapter.parameters.tensor(loraA(layer, projection)),
            mask: dropoutMask({ x, layer, projection, rate: adapter.dropout! }),
          },
    );
    return maskedLayers({ x, layers, scale: adapter.scale, inputs });
  }
  // The halves that read x are narrow: stacked, they make one product of a better shape.
  const stacked = adapter.parameters.tensor(...adapted.map((projection) => loraA(layer, projection)));
  const group = { x, layers, a: stacked, scale: adapter.scale };
  return adapter.merged?.has(projections[0]!) ? mergedLayers(group) : adaptedLayers(group);
}

/** A norm over each head's part of (tokens, heads x headSize). */
function headNorm({ config, parameters }: DecoderParts, x: Tensor, heads: number, name: string): Tensor {
  const tokens = dimension(x, 0);
  const split = reshape(x, [tokens, heads, config.headSize]);
  const normed = rmsNorm(split, parameters.tensor(name), config.normEpsilon);
  return reshape(normed, [tokens, heads * config.headSize]);
}
