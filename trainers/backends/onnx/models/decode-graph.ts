import { add, multiply } from "../graph/elementwise.ts";
import { gatherRows } from "../graph/gather.ts";
import type { Graph } from "../graph/graph.ts";
import { matrixProduct } from "../graph/linear.ts";
import { type RotaryTables, rmsNorm, rotateHeads, silu } from "../graph/neural.ts";
import { concatenate, reshape, reshapeBy, split, transpose } from "../graph/shape.ts";
import type { Tensor } from "../graph/tensor.ts";
import { cachedAttention } from "./cached-attention.ts";
import type { DecoderParts } from "./decoder.ts";
import { fusedName } from "./fused-adapter.ts";
import { outputProbabilities } from "./output-probabilities.ts";
import { attentionInputs, embeddingName, finalNormName, mlpInputs, moduleName } from "./parameters.ts";

/**
 * One token for each row of a batch, over a cache; an adapter is one of {@link fuseAdapter}. With so few rows what
 * counts is how often weights are read and how many operators there are, so layers that read the same input are one
 * product, and queries and keys turn together.
 *
 * Rows stand in groups of equal size, `rows` = groups x members. Inputs beside those of {@link cachedAttention}: `ids`
 * (rows), `positions` (rows, 1), `cos`, `sin`, `inverseTemperature` (rows, 1), `grid` [groups, members, keyValueHeads,
 * -1, headSize]. Outputs: `probabilities` (rows, vocabulary), and `keys`, `values` (groups, layers x keyValueHeads,
 * members, 1, headSize): the new tokens only, because the runtime copies whatever is fetched.
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
  const grid = graph.input("grid", "int64", [5]);
  const attend = cachedAttention(graph, config);
  const newKeys: Tensor[] = [];
  const newValues: Tensor[] = [];
  let hidden = gatherRows(parameters.tensor(embeddingName), graph.input("ids", "int32", ["rows"]));
  for (let layer = 0; layer < layers; layer++) {
    const block = `model.layers.${layer}`;
    const mixedInputs = fusedLinear(parts, layer, attentionInputs, {
      x: norm(hidden, `${block}.input_layernorm.weight`),
    });
    const byHead = reshape(mixedInputs, ["rows", heads + 2 * keyValueHeads, 1, headSize]);
    const [queries, keys, values] = turn(parts, layer, byHead, rotary).map((x, part) => {
      const inGrid = reshapeBy(x, grid, [
        "groups",
        "members",
        keyValueHeads,
        part === 0 ? heads / keyValueHeads : 1,
        headSize,
      ]);
      return transpose(inGrid, swapGrid);
    }) as [Tensor, Tensor, Tensor];
    newKeys.push(keys);
    newValues.push(values);
    const attended = transpose(attend(layer, { queries, keys, values }), swapGrid);
    const mixed = reshape(attended, ["rows", heads * headSize]);
    hidden = fusedLinear(parts, layer, ["o_proj"], { x: mixed, addend: hidden });
    const fed = norm(hidden, `${block}.post_attention_layernorm.weight`);
    const width = config.intermediateSize;
    const [gate, up] = split(fusedLinear(parts, layer, mlpInputs, { x: fed }), 1, [width, width]) as [Tensor, Tensor];
    hidden = fusedLinear(parts, layer, ["down_proj"], { x: multiply(silu(gate), up), addend: hidden });
  }
  outputProbabilities(graph, parts, { hidden: norm(hidden, finalNormName), rows: "rows" });
  graph.output("keys", concatenate(newKeys, 1, layers * keyValueHeads));
  graph.output("values", concatenate(newValues, 1, layers * keyValueHeads));
}

/** Between (groups, members, heads, ...) and (groups, heads, members, ...). */
const swapGrid = [0, 2, 1, 3, 4];

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
