import { add, multiply } from "../graph/elementwise.ts";
import { gatherRows } from "../graph/gather.ts";
import type { Graph } from "../graph/graph.ts";
import { matrixProduct } from "../graph/linear.ts";
import { type RotaryTables, rmsNorm, rotateHeads, silu } from "../graph/neural.ts";
import { concatenate, reshape, split } from "../graph/shape.ts";
import { dimension, type Tensor } from "../graph/tensor.ts";
import type { DecoderParts } from "./decoder.ts";
import { diagonalName } from "./diagonal-halves.ts";
import { groupedAttention } from "./grouped-attention.ts";
import { loraA, loraB } from "./lora.ts";
import { outputProbabilities } from "./output-probabilities.ts";
import { attentionInputs, embeddingName, finalNormName, mlpInputs, moduleName } from "./parameters.ts";
import { separateAttention } from "./separate-attention.ts";
import { outputStateValues } from "./value-head.ts";
import { productByWeights, productWithWeights } from "./weight-products.ts";

/** How a decoding graph is laid out; each form is fastest somewhere, all compute the same. */
export interface DecodeForm {
  /** Rows of one prompt stand in groups; otherwise each row has a prompt of its own. */
  readonly grouped: boolean;
  /**
   * The weights are the left side of products, which the runtime reads in place. As the right side, it reads them as
   * they are packed beforehand if they are constants: faster for a few rows, slower for many.
   */
  readonly weightsFirst: boolean;
}

/**
 * One token for each row of a batch, over a cache. With so few rows what counts is how often weights are read and how
 * many operators there are, so layers that read the same input are one product, and queries and keys turn together.
 *
 * Inputs beside those of {@link groupedAttention} or {@link separateAttention}: `ids` (rows), `positions` (rows, 1),
 * `cos`, `sin`, `inverseTemperature` (rows, 1), and an adapter's diagonal halves by {@link diagonalName}. Outputs:
 * `probabilities` (rows, vocabulary), with a value head `stateValues` (rows), and `keys`, `values` (rows, layers x
 * keyValueHeads, 1, headSize): the new tokens only, because the runtime copies whatever is fetched.
 */
export function buildDecodeGraph(graph: Graph, parts: DecoderParts, form: DecodeForm): void {
  const { config, parameters } = parts;
  const { heads, keyValueHeads, headSize, layers } = config;
  const norm = (x: Tensor, name: string): Tensor => rmsNorm(x, parameters.tensor(name), config.normEpsilon);
  const linear = (layer: number, group: readonly string[], x: Tensor, addend?: Tensor): Tensor =>
    fusedLinear(parts, { layer, group, x, addend, weightsFirst: form.weightsFirst });
  const half = headSize / 2;
  const rotary: RotaryTables = {
    positions: graph.input("positions", "int64", ["rows", 1]),
    cos: graph.input("cos", "float32", ["table", half]),
    sin: graph.input("sin", "float32", ["table", half]),
  };
  const attend = form.grouped
    ? groupedAttention(graph, config)
    : separateAttention(graph, config, { prefixApart: form.weightsFirst });
  const newKeys: Tensor[] = [];
  const newValues: Tensor[] = [];
  let hidden = gatherRows(parameters.tensor(embeddingName), graph.input("ids", "int32", ["rows"]));
  for (let layer = 0; layer < layers; layer++) {
    const block = `model.layers.${layer}`;
    const mixedInputs = linear(layer, attentionInputs, norm(hidden, `${block}.input_layernorm.weight`));
    const byHead = reshape(mixedInputs, ["rows", heads + 2 * keyValueHeads, 1, headSize]);
    const [queries, keys, values] = turn(parts, layer, byHead, rotary);
    newKeys.push(keys);
    newValues.push(values);
    const mixed = reshape(attend(layer, { queries, keys, values }), ["rows", heads * headSize]);
    hidden = linear(layer, ["o_proj"], mixed, hidden);
    const fed = norm(hidden, `${block}.post_attention_layernorm.weight`);
    const width = config.intermediateSize;
    const [gate, up] = split(linear(layer, mlpInputs, fed), 1, [width, width]) as [Tensor, Tensor];
    hidden = linear(layer, ["down_proj"], multiply(silu(gate), up), hidden);
  }
  const final = norm(hidden, finalNormName);
  outputProbabilities(graph, parts, { hidden: final, rows: "rows", ...form });
  outputStateValues(graph, parts, final);
  graph.output("keys", concatenate(newKeys, 1, layers * keyValueHeads));
  graph.output("values", concatenate(newValues, 1, layers * keyValueHeads));
}

/** Queries, keys and values of (rows, heads + 2 keyValueHeads, 1, headSize), with norms and turned. */
function turn(
  { config, parameters }: DecoderParts,
  layer: number,
  byHead: Tensor,
  rotary: RotaryTables,
): readonly [Tensor, Tensor, Tensor] {
  const { heads, keyValueHeads } = config;
  const turned = config.ropeLayers[layer] === true;
  if (!config.queryKeyNorm) {
    const [both, values] = split(byHead, 1, [heads + keyValueHeads, keyValueHeads]) as [Tensor, Tensor];
    const [queries, keys] = split(turned ? rotateHeads(both, rotary) : both, 1, [heads, keyValueHeads]) as [
      Tensor,
      Tensor,
    ];
    return [queries, keys, values];
  }
  const [queries, keys, values] = split(byHead, 1, [heads, keyValueHeads, keyValueHeads]) as [Tensor, Tensor, Tensor];
  const place = (x: Tensor, name: string): Tensor => {
    const weight = parameters.tensor(`model.layers.${layer}.self_attn.${name}.weight`);
    const normed = rmsNorm(x, weight, config.normEpsilon);
    return turned ? rotateHeads(normed, rotary) : normed;
  };
  return [place(queries, "q_norm"), place(keys, "k_norm"), values];
}

/** Layers that read the same input as one product, with biases and adapter: (rows, outputs of the group). */
function fusedLinear(
  { parameters, adapter }: DecoderParts,
  options: {
    readonly layer: number;
    readonly group: readonly string[];
    readonly x: Tensor;
    readonly addend: Tensor | undefined;
    readonly weightsFirst: boolean;
  },
): Tensor {
  const { layer, group, x, addend, weightsFirst } = options;
  const weights = group.map((projection) => `${moduleName(layer, projection)}.weight`);
  const biases = group.map((projection) => `${moduleName(layer, projection)}.bias`);
  const biased = parameters.has(biases[0]!) ? parameters.tensor(...biases) : undefined;
  const start = addend !== undefined && biased !== undefined ? add(addend, biased) : (addend ?? biased);
  const product = weightsFirst ? productByWeights : productWithWeights;
  const output = product(x, parameters.tensor(...weights), start);
  const adapted = group.filter((projection) => adapter?.parameters.has(loraA(layer, projection)));
  if (adapter === undefined || adapted.length === 0) return output;
  const a = adapter.parameters.tensor(...adapted.map((projection) => loraA(layer, projection)));
  const reduced = matrixProduct(x, a, { transposeB: true });
  const b =
    group.length === 1
      ? adapter.parameters.tensor(loraB(layer, group[0]!))
      : x.graph.input(diagonalName(layer, group), "float32", [dimension(output, 1), dimension(a, 0)]);
  return matrixProduct(reduced, b, { transposeB: true, scale: adapter.scale, addend: output });
}
