import { add, multiply } from "../graph/elementwise.ts";
import { gatherRows } from "../graph/gather.ts";
import type { Graph } from "../graph/graph.ts";
import { batchedProduct, matrixProduct } from "../graph/linear.ts";
import { type RotaryTables, rmsNorm, rotateHeads, silu, softmax } from "../graph/neural.ts";
import { concatenate, reshape, split, splitBy } from "../graph/shape.ts";
import type { Tensor } from "../graph/tensor.ts";
import type { DecoderParts } from "./decoder.ts";
import type { DecoderConfig } from "./decoder-config.ts";
import { fusedName } from "./fused-adapter.ts";
import { outputProbabilities } from "./output-probabilities.ts";
import { attentionInputs, embeddingName, finalNormName, mlpInputs, moduleName } from "./parameters.ts";

/**
 * One token for each row of a batch, over a cache; an adapter is one of {@link fuseAdapter}. With so few rows what counts is how often weights are read and how
 * many operators there are, so layers that read the same input are one product, and queries and keys turn together.
 *
 * Inputs: `ids` (rows), `positions` (rows, 1), `cos`, `sin`, `inverseTemperature` (rows, 1), `mask`
 * (rows, 1, 1, 1, capacity): 0 where the cache is filled, minus infinity beyond; `parts` (2): 1 and the capacity; per
 * layer `keys.<n>` and `values.<n>` (rows, keyValueHeads, 1, capacity, headSize). Outputs: `probabilities`
 * (rows, vocabulary), and `keys`, `values` (rows, layers x keyValueHeads x headSize): the new rows only, because the
 * runtime copies whatever is fetched. The new token attends to the cache and to itself.
 */
export function buildDecodeGraph(graph: Graph, parts: DecoderParts): void {
  const { config, parameters } = parts;
  const { heads, keyValueHeads, headSize, layers } = config;
  const norm = (x: Tensor, name: string): Tensor => rmsNorm(x, parameters.tensor(name), config.normEpsilon);
  const half = headSize / 2;
  const rotary: RotaryTables = {
    positions: graph.input("positions", "int64", ["rows", 1]),
    cos: graph.input("cos", "float32", ["table", half]),
    sin: graph.input("sin", "float32", ["table", half]),
  };
  const mask = graph.input("mask", "float32", ["rows", 1, 1, 1, "capacity"]);
  const cutWeights = graph.input("parts", "int64", [2]);
  const newKeys: Tensor[] = [];
  const newValues: Tensor[] = [];
  let hidden = gatherRows(parameters.tensor(embeddingName), graph.input("ids", "int32", ["rows"]));
  for (let layer = 0; layer < layers; layer++) {
    const block = `model.layers.${layer}`;
    const mixedInputs = fusedLinear(parts, layer, attentionInputs, {
      x: norm(hidden, `${block}.input_layernorm.weight`),
    });
    const byHead = reshape(mixedInputs, ["rows", heads + 2 * keyValueHeads, 1, headSize]);
    const { queries, keys, values } = turn(parts, layer, byHead, rotary);
    newKeys.push(reshape(keys, ["rows", keyValueHeads * headSize]));
    newValues.push(reshape(values, ["rows", keyValueHeads * headSize]));
    const mixed = attendToCache({ graph, config, layer, queries, keys, values, mask, cutWeights });
    hidden = fusedLinear(parts, layer, ["o_proj"], { x: mixed, addend: hidden });
    const fed = norm(hidden, `${block}.post_attention_layernorm.weight`);
    const width = config.intermediateSize;
    const [gate, up] = split(fusedLinear(parts, layer, mlpInputs, { x: fed }), 1, [width, width]) as [Tensor, Tensor];
    hidden = fusedLinear(parts, layer, ["down_proj"], { x: multiply(silu(gate), up), addend: hidden });
  }
  outputProbabilities(graph, parts, { hidden: norm(hidden, finalNormName), rows: "rows" });
  const width = layers * keyValueHeads * headSize;
  graph.output("keys", concatenate(newKeys, 1, width));
  graph.output("values", concatenate(newValues, 1, width));
}

/** Norms and turns queries and keys of (rows, heads + 2 keyValueHeads, 1, headSize). */
function turn(
  { config, parameters }: DecoderParts,
  layer: number,
  byHead: Tensor,
  rotary: RotaryTables,
): { readonly queries: Tensor; readonly keys: Tensor; readonly values: Tensor } {
  const { heads, keyValueHeads } = config;
  const turned = config.ropeLayers[layer] === true;
  if (!config.queryKeyNorm) {
    const [both, values] = split(byHead, 1, [heads + keyValueHeads, keyValueHeads]) as [Tensor, Tensor];
    const [queries, keys] = split(turned ? rotateHeads(both, rotary) : both, 1, [heads, keyValueHeads]) as [
      Tensor,
      Tensor,
    ];
    return { queries, keys, values };
  }
  const [queries, keys, values] = split(byHead, 1, [heads, keyValueHeads, keyValueHeads]) as [Tensor, Tensor, Tensor];
  const place = (x: Tensor, name: string): Tensor => {
    const weight = parameters.tensor(`model.layers.${layer}.self_attn.${name}.weight`);
    const normed = rmsNorm(x, weight, config.normEpsilon);
    return turned ? rotateHeads(normed, rotary) : normed;
  };
  return { queries: place(queries, "q_norm"), keys: place(keys, "k_norm"), values };
}

/** Attention of one new token per row to its cache and to itself: (rows, heads x headSize). */
function attendToCache(options: {
  readonly graph: Graph;
  readonly config: DecoderConfig;
  readonly layer: number;
  readonly queries: Tensor;
  readonly keys: Tensor;
  readonly values: Tensor;
  readonly mask: Tensor;
  readonly cutWeights: Tensor;
}): Tensor {
  const { graph, config, layer, mask, cutWeights } = options;
  const { heads, keyValueHeads, headSize } = config;
  const scale = 1 / Math.sqrt(headSize);
  const cache = ["rows", keyValueHeads, 1, "capacity", headSize];
  const cachedKeys = graph.input(`keys.${layer}`, "float32", cache);
  const cachedValues = graph.input(`values.${layer}`, "float32", cache);
  // One row per head: products of a single row read the cache in place, where wider ones would repack it.
  const queries = reshape(options.queries, ["rows", keyValueHeads, heads / keyValueHeads, 1, headSize]);
  const keys = reshape(options.keys, ["rows", keyValueHeads, 1, 1, headSize]);
  const values = reshape(options.values, ["rows", keyValueHeads, 1, 1, headSize]);
  const scores = add(batchedProduct(queries, cachedKeys, { transposeB: true, scale }), mask);
  const ownScore = batchedProduct(queries, keys, { transposeB: true, scale });
  const weights = softmax(concatenate([ownScore, scores], 4, "capacity+1"));
  const [ownWeight, cacheWeights] = splitBy(weights, 4, { sizes: cutWeights, names: [1, "capacity"] }) as [
    Tensor,
    Tensor,
  ];
  const mixed = add(batchedProduct(cacheWeights, cachedValues), multiply(ownWeight, values));
  return reshape(mixed, ["rows", heads * headSize]);
}

/** Layers that read the same input as one product, with biases and adapter: (rows, outputs of the group). */
function fusedLinear(
  { parameters, adapter }: DecoderParts,
  layer: number,
  group: readonly string[],
  { x, addend }: { readonly x: Tensor; readonly addend?: Tensor },
): Tensor {
  const weights = group.map((projection) => `${moduleName(layer, projection)}.weight`);
  const biases = group.map((projection) => `${moduleName(layer, projection)}.bias`);
  const biased = parameters.has(biases[0]!) ? parameters.tensor(...biases) : undefined;
  const start = addend !== undefined && biased !== undefined ? add(addend, biased) : (addend ?? biased);
  const output = matrixProduct(x, parameters.tensor(...weights), { transposeB: true, addend: start });
  if (adapter === undefined || !adapter.parameters.has(fusedName(layer, group, "a"))) return output;
  const reduced = matrixProduct(x, adapter.parameters.tensor(fusedName(layer, group, "a")), { transposeB: true });
  const b = adapter.parameters.tensor(fusedName(layer, group, "b"));
  return matrixProduct(reduced, b, { transposeB: true, scale: adapter.scale, addend: output });
}
