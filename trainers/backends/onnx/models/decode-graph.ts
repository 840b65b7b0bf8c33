import { gatherRows } from "../graph/gather.ts";
import type { Graph } from "../graph/graph.ts";
import { type RotaryTables, rmsNorm, rotateHeads } from "../graph/neural.ts";
import { concatenate, reshape, split } from "../graph/shape.ts";
import type { Tensor } from "../graph/tensor.ts";
import { weightsOnTheLeft, weightsOnTheRight } from "./decode-layers.ts";
import type { DecoderParts } from "./decoder.ts";
import type { diagonalName } from "./diagonal-halves.ts";
import { groupedAttention } from "./grouped-attention.ts";
import { outputProbabilities } from "./output-probabilities.ts";
import { attentionInputs, embeddingName, finalNormName } from "./parameters.ts";
import { separateAttention } from "./separate-attention.ts";
import { outputStateValues } from "./value-head.ts";

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
  const { linear, feedForward, head } = form.weightsFirst ? weightsOnTheLeft(parts) : weightsOnTheRight(parts);
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
    const mixedInputs = linear(
      { layer, projections: attentionInputs },
      norm(hidden, `${block}.input_layernorm.weight`),
    );
    const byHead = reshape(mixedInputs, ["rows", heads + 2 * keyValueHeads, 1, headSize]);
    const [queries, keys, values] = turn(parts, layer, byHead, rotary);
    newKeys.push(keys);
    newValues.push(values);
    const mixed = reshape(attend(layer, { queries, keys, values }), ["rows", heads * headSize]);
    hidden = linear({ layer, projections: ["o_proj"] }, mixed, hidden);
    hidden = feedForward(layer, norm(hidden, `${block}.post_attention_layernorm.weight`), hidden);
  }
  const final = norm(hidden, finalNormName);
  outputProbabilities(graph, parts, { hidden: final, rows: "rows", product: head });
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
