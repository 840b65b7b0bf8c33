import type { DecoderConfig } from "../../../model-folders/architecture/decoder-config.ts";
import type { LinearGroup } from "../../../model-folders/architecture/linear-groups.ts";
import { loraA, loraB, loraDropout } from "../../../model-folders/architecture/lora-layers.ts";
import { finalNormName, moduleName } from "../../../model-folders/architecture/parameters.ts";
import { unpackBits } from "../graph/bits.ts";
import { add, multiply, select } from "../graph/elementwise.ts";
import { rotate } from "../graph/neural.ts";
import { reshape, split } from "../graph/shape.ts";
import { dimension, knownDimension, type Tensor } from "../graph/tensor.ts";
import { feedForwardUnit } from "./feed-forward-unit.ts";
import type { GraphParameters } from "./graph-parameters.ts";
import { adaptedLayers, type LinearLayer, maskedLayers, mergedLayers, plainLayers } from "./linear-layers.ts";
import { norm } from "./norm.ts";
import { embedTokens, type TokenPositions } from "./positions.ts";

/** The parts that a decoder is built from. */
export interface DecoderParts {
  readonly config: DecoderConfig;
  readonly parameters: GraphParameters;
  readonly adapter?: {
    readonly parameters: GraphParameters;
    readonly scale: number;
    /** Layers of a block whose adapters are added to their weights: see {@link mergedLayers}. Default: none. */
    readonly merged?: ReadonlySet<string>;
    /** The dropout rate of each adapter's inputs, with masks that are inputs of the graph. Default: no dropout. */
    readonly dropout?: number | undefined;
  };
}

/** The queries (tokens, heads x headSize), keys and values (tokens, keyValueHeads x headSize) of one layer. */
export interface AttentionInputs {
  readonly layer: number;
  readonly queries: Tensor;
  readonly keys: Tensor;
  readonly values: Tensor;
}

/** Computes attention: (tokens, heads x headSize). */
export type Attention = (inputs: AttentionInputs) => Tensor;

/**
 * Builds the body of a decoder: token ids (tokens) to the normed hidden states (tokens, hiddenSize) that the output
 * head reads. The caller provides the attention: over padded batches in training, or with a cache in decoding.
 */
export function decoderBody(
  parts: DecoderParts,
  inputs: { readonly ids: Tensor; readonly positions: TokenPositions; readonly attention: Attention },
): Tensor {
  const { config } = parts;
  const { attention, mlp } = config.architecture;
  const { attentionInputs, attentionOutput, mlpInputs, mlpOutput } = config.linear;
  let hidden = embedTokens(parts, inputs.ids, inputs.positions);
  for (let layer = 0; layer < config.layers; layer++) {
    const attended = norm(parts, hidden, moduleName(config, layer, attention.norm));
    let [queries, keys, values] = linear(parts, layer, attentionInputs, attended) as [Tensor, Tensor, Tensor];
    const { headNorms } = attention;
    if (headNorms !== undefined) {
      queries = headNorm(parts, queries, config.heads, moduleName(config, layer, headNorms.queries));
      keys = headNorm(parts, keys, config.keyValueHeads, moduleName(config, layer, headNorms.keys));
    }
    const rotary = inputs.positions.rotaryOf(layer);
    if (rotary !== undefined) {
      queries = rotate(queries, config.heads, rotary);
      keys = rotate(keys, config.keyValueHeads, rotary);
    }
    queries = scaleQueries(config, queries);
    const mixed = inputs.attention({ layer, queries, keys, values });
    const output = linear(parts, layer, attentionOutput, mixed)[0]!;
    hidden = add(hidden, outputNorm(parts, layer, attention.outputNorm, output));
    const fed = norm(parts, hidden, moduleName(config, layer, mlp.norm));
    const unit = feedForwardUnit(config.activation, linear(parts, layer, mlpInputs, fed));
    hidden = add(hidden, outputNorm(parts, layer, mlp.outputNorm, linear(parts, layer, mlpOutput, unit)[0]!));
  }
  return norm(parts, hidden, finalNormName(config));
}

/** Applies the norm that some families have before an output is added to the hidden state. */
export function outputNorm(parts: DecoderParts, layer: number, name: string | undefined, x: Tensor): Tensor {
  return name === undefined ? x : norm(parts, x, moduleName(parts.config, layer, name));
}

/** Scales queries if their products with keys are not divided by the square root of the head size. */
export function scaleQueries({ queryScale }: DecoderConfig, queries: Tensor): Tensor {
  return queryScale === undefined ? queries : multiply(queries, queries.graph.scalar(queryScale));
}

/**
 * Returns a mask (tokens, inputs): 0 for dropped inputs of an adapter, 1 / (1 - rate) for the others, which keeps the
 * mean (Srivastava et al. 2014).
 */
function dropoutMask(x: Tensor, { module, rate }: { readonly module: string; readonly rate: number }): Tensor {
  const { graph } = x;
  const inputs = knownDimension(x, 1);
  const words = graph.input(loraDropout(module), "int32", ["tokens", Math.ceil(inputs / 32)]);
  return select(unpackBits(words, inputs), graph.scalar(1 / (1 - rate)), graph.scalar(0));
}

/** Returns the outputs of a group of linear layers, with their biases and adapters, split by the group's widths. */
function linear(parts: DecoderParts, layer: number, group: LinearGroup, x: Tensor): readonly Tensor[] {
  const outputs = linearOutputs(parts, layer, group, x);
  return outputs.length === group.widths.length ? outputs : split(outputs[0]!, 1, group.widths);
}

function linearOutputs(parts: DecoderParts, layer: number, group: LinearGroup, x: Tensor): readonly Tensor[] {
  const { config, parameters, adapter } = parts;
  const modules = group.layers.map(({ name }) => moduleName(config, layer, name));
  const layers = modules.map((module): LinearLayer => {
    return {
      weight: parameters.weight(`${module}.weight`),
      bias: group.bias ? parameters.tensor(`${module}.bias`) : undefined,
      b: adapter?.parameters.has(loraB(module)) ? adapter.parameters.tensor(loraB(module)) : undefined,
    };
  });
  const adapted = modules.filter((_, i) => layers[i]!.b !== undefined);
  if (adapter === undefined || adapted.length === 0) return plainLayers(x, layers);
  if (adapter.dropout !== undefined) {
    const inputs = modules.map((module, i) =>
      layers[i]!.b === undefined
        ? undefined
        : {
            a: adapter.parameters.tensor(loraA(module)),
            mask: dropoutMask(x, { module, rate: adapter.dropout! }),
          },
    );
    return maskedLayers({ x, layers, scale: adapter.scale, inputs });
  }
  // The A halves read x and are narrow. Stacked, they form one product with a better shape.
  const stacked = adapter.parameters.tensor(...adapted.map(loraA));
  const adaptedGroup = { x, layers, a: stacked, scale: adapter.scale };
  return adapter.merged?.has(group.layers[0]!.name) ? mergedLayers(adaptedGroup) : adaptedLayers(adaptedGroup);
}

/** Applies a norm to each head's part of (tokens, heads x headSize). */
function headNorm(parts: DecoderParts, x: Tensor, heads: number, module: string): Tensor {
  const { headSize } = parts.config;
  const tokens = dimension(x, 0);
  return reshape(norm(parts, reshape(x, [tokens, heads, headSize]), module), [tokens, heads * headSize]);
}
