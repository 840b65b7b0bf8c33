import { finalNormName, moduleName } from "../../../model-folders/architecture/parameters.ts";
import { add } from "../graph/elementwise.ts";
import type { Graph } from "../graph/graph.ts";
import { type RotaryTables, rotateHeads } from "../graph/neural.ts";
import { concatenate, reshape, split } from "../graph/shape.ts";
import type { Tensor } from "../graph/tensor.ts";
import { weightsOnTheLeft, weightsOnTheRight } from "./decode-layers.ts";
import { type DecoderParts, outputNorm, scaleQueries } from "./decoder.ts";
import type { diagonalName } from "./diagonal-halves.ts";
import { groupedAttention } from "./grouped-attention.ts";
import { norm } from "./norm.ts";
import { outputProbabilities } from "./output-probabilities.ts";
import { embedTokens, positionInputs } from "./positions.ts";
import { separateAttention } from "./separate-attention.ts";
import { outputStateValues } from "./value-head.ts";

/** The form of a decoding graph. All forms compute the same result. The fastest one depends on the batch. */
export interface DecodeForm {
  /** True if rows of the same prompt form groups. False if each row has its own prompt. */
  readonly grouped: boolean;
  /**
   * True if the weights are the left side of products, which the runtime reads in place. On the right side, constant
   * weights are packed once: faster for a few rows, slower for many.
   */
  readonly weightsFirst: boolean;
}

/**
 * Builds a graph that decodes one token for each row of a batch with a cache. With few rows, the time depends on how
 * often weights are read and on the number of operators. So layers that read the same input are one product, and
 * queries and keys are rotated together.
 *
 * Inputs in addition to those of {@link groupedAttention} or {@link separateAttention}: `ids` (rows), those of
 * {@link positionInputs} with the shape (rows, 1), `inverseTemperature` (rows, 1), and an adapter's diagonal B halves
 * by {@link diagonalName}. Outputs: `probabilities` (rows, vocabulary), `stateValues` (rows) if there is a value head,
 * and `keys` and `values` (rows, layers x keyValueHeads, 1, headSize). These contain only the new tokens, because the
 * runtime copies all outputs.
 */
export function buildDecodeGraph(graph: Graph, parts: DecoderParts, form: DecodeForm): void {
  const { config } = parts;
  const { heads, keyValueHeads, headSize, layers } = config;
  const { attention, mlp } = config.architecture;
  const { attentionInputs, attentionOutput } = config.linear;
  const { linear, feedForward, head } = form.weightsFirst ? weightsOnTheLeft(parts) : weightsOnTheRight(parts);
  const positions = positionInputs(graph, config, ["rows", 1]);
  const attend = form.grouped
    ? groupedAttention(graph, config)
    : separateAttention(graph, config, { prefixApart: form.weightsFirst });
  const newKeys: Tensor[] = [];
  const newValues: Tensor[] = [];
  let hidden = embedTokens(parts, graph.input("ids", "int32", ["rows"]), positions);
  for (let layer = 0; layer < layers; layer++) {
    const attended = norm(parts, hidden, moduleName(config, layer, attention.norm));
    const mixedInputs = linear({ layer, group: attentionInputs }, attended);
    const byHead = reshape(mixedInputs, ["rows", heads + 2 * keyValueHeads, 1, headSize]);
    const [queries, keys, values] = placeHeads(parts, layer, { byHead, rotary: positions.rotaryOf(layer) });
    newKeys.push(keys);
    newValues.push(values);
    const mixed = reshape(attend(layer, { queries, keys, values }), ["rows", heads * headSize]);
    // Without a norm in between, the product adds its output to the hidden state.
    hidden =
      attention.outputNorm === undefined
        ? linear({ layer, group: attentionOutput }, mixed, hidden)
        : add(hidden, outputNorm(parts, layer, attention.outputNorm, linear({ layer, group: attentionOutput }, mixed)));
    const fed = norm(parts, hidden, moduleName(config, layer, mlp.norm));
    hidden =
      mlp.outputNorm === undefined
        ? feedForward(layer, fed, hidden)
        : add(hidden, outputNorm(parts, layer, mlp.outputNorm, feedForward(layer, fed)));
  }
  const final = norm(parts, hidden, finalNormName(config));
  outputProbabilities(graph, parts, { hidden: final, rows: "rows", product: head });
  outputStateValues(graph, parts, final);
  graph.output("keys", concatenate(newKeys, 1, layers * keyValueHeads));
  graph.output("values", concatenate(newValues, 1, layers * keyValueHeads));
}

/**
 * Splits (rows, heads + 2 keyValueHeads, 1, headSize) into queries, keys and values, and applies head norms and rotary
 * positions.
 */
function placeHeads(
  parts: DecoderParts,
  layer: number,
  { byHead, rotary }: { readonly byHead: Tensor; readonly rotary: RotaryTables | undefined },
): readonly [Tensor, Tensor, Tensor] {
  const { config } = parts;
  const { heads, keyValueHeads } = config;
  const { headNorms } = config.architecture.attention;
  const turn = (x: Tensor): Tensor => (rotary === undefined ? x : rotateHeads(x, rotary));
  if (headNorms === undefined) {
    const [both, values] = split(byHead, 1, [heads + keyValueHeads, keyValueHeads]) as [Tensor, Tensor];
    const [queries, keys] = split(turn(both), 1, [heads, keyValueHeads]) as [Tensor, Tensor];
    return [scaleQueries(config, queries), keys, values];
  }
  const [queries, keys, values] = split(byHead, 1, [heads, keyValueHeads, keyValueHeads]) as [Tensor, Tensor, Tensor];
  const place = (x: Tensor, name: string): Tensor => turn(norm(parts, x, moduleName(config, layer, name)));
  return [scaleQueries(config, place(queries, headNorms.queries)), place(keys, headNorms.keys), values];
}
