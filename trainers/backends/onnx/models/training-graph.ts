import type { LossTerm } from "../../../backend/loss-term.ts";
import type { ForwardOutput } from "../../../backend/training-backend.ts";
import type { DecoderConfig } from "../../../model-folders/architecture/decoder-config.ts";
import { add } from "../graph/elementwise.ts";
import { gatherRows } from "../graph/gather.ts";
import { gradients } from "../graph/gradients.ts";
import { Graph, type Precision } from "../graph/graph.ts";
import { reduceSum } from "../graph/reduction.ts";
import { concatenate } from "../graph/shape.ts";
import { knownDimension, type Tensor } from "../graph/tensor.ts";
import { type DecoderParts, decoderBody } from "./decoder.ts";
import { type BaseBlock, bindParameters, type GraphParameters, type GraphPlan } from "./graph-parameters.ts";
import type { ParameterBlock } from "./parameter-block.ts";
import { sequenceInputs } from "./sequence-inputs.ts";
import { trainingAttention } from "./training-attention.ts";
import { trainingHeads } from "./training-heads.ts";

/** The options of a training graph. */
export interface TrainingGraphOptions {
  readonly config: DecoderConfig;
  readonly base: BaseBlock;
  readonly adapter?: { readonly block: ParameterBlock; readonly scale: number };
  /** Layers whose adapters are added to their weights: see `mergedLayers`. */
  readonly merged?: readonly string[];
  /** The dropout rate of each adapter's inputs, with the masks of `dropoutFeeds`. Default: no dropout. */
  readonly dropout?: number | undefined;
  /** The block that gets gradients. A graph that trains nothing only evaluates. */
  readonly trains: "base" | "adapter" | "none";
  readonly terms: readonly LossTerm[];
  readonly chunks: number;
  /** The number of blocks that attention splits the sequences into. */
  readonly blocks: number;
  /** True if sequences may share the tokens of equal prefixes. Default: false. */
  readonly shares?: boolean;
  /** The outputs in addition to sums and gradients. Logits are computed only if an output or term needs them. */
  readonly outputs: readonly ForwardOutput[];
  /** True if positions have a support: the tokens that the target was sampled from. Default: false. */
  readonly truncated?: boolean;
  readonly device: string;
  /** The precision of products. In float16 the input `lossScale` multiplies the gradients. */
  readonly precision: Precision;
}

/**
 * Builds one graph with forward pass, loss and backward pass. Inputs: those of {@link sequenceInputs}, and per position
 * with loss `rows` (the token whose hidden state predicts the target), `targets`, `inverseTemperature`, `weights`,
 * `advantages`, `behaviour`, `reference`, `returns`, `oldValues` and `supports`. `positionOf` (tokens) is the position
 * that each token's hidden state feeds, or the number of positions if there is none. Outputs: `terms`, `logprobs`,
 * `entropy`, `values` and the gradients.
 *
 * If sequences share tokens, several positions can read one of these, which come first. `sharedPositions` (shared, copies)
 * are then the positions of each shared token, and `positionOf` (own) those of the other tokens.
 */
export function buildTrainingGraph(options: TrainingGraphOptions): GraphPlan {
  const { config } = options;
  const graph = new Graph({ target: options.device, precision: options.precision });
  const { parameters, adapter, plan } = bindParameters(graph, options);
  const { dropout } = options;
  const parts: DecoderParts = {
    config,
    parameters,
    adapter: adapter && { ...adapter, merged: new Set(options.merged), dropout },
  };
  const { ids, positions, layout, maskOf } = sequenceInputs(graph, config, {
    sharedBlocks: options.shares ? options.blocks : undefined,
  });
  const hidden = decoderBody(parts, {
    ids,
    positions,
    attention: trainingAttention(config, { layout, maskOf, blocks: options.blocks }),
  });
  const heads = trainingHeads({ ...options, parts, hidden, wantWeightGradient: options.trains === "base" });
  if (options.trains !== "none" && heads.hidden !== undefined) {
    outputGradients({
      graph,
      parameters: options.trains === "base" ? parameters : adapter!.parameters,
      hidden,
      byPositions: heads.hidden,
      shares: options.shares ?? false,
      byHeads: heads.parameters,
    });
  }
  return plan;
}

/** Propagates the heads' gradients back through the body and outputs one gradient per parameter. */
function outputGradients(options: {
  readonly graph: Graph;
  readonly parameters: GraphParameters;
  /** (tokens, hiddenSize) */
  readonly hidden: Tensor;
  /** (positions, hiddenSize): the gradient with respect to the hidden states that the heads read. */
  readonly byPositions: Tensor;
  readonly shares: boolean;
  /** The gradients of the heads' own parameters. */
  readonly byHeads: ReadonlyMap<string, Tensor | undefined>;
}): void {
  const { graph, parameters, hidden, byHeads } = options;
  const hiddenGradient = spreadPositions(options);
  const tensors = parameters.bound.map(({ name }) => parameters.tensor(...name.split("+")));
  const found = gradients({ outputs: [{ tensor: hidden, gradient: hiddenGradient }], by: tensors });
  for (const [i, { name }] of parameters.bound.entries()) {
    const [fromBody, fromHead] = [found[i], byHeads.get(name)];
    const gradient =
      fromBody === undefined || fromHead === undefined ? (fromBody ?? fromHead) : add(fromBody, fromHead);
    graph.output(`gradient:${name}`, gradient!);
  }
}

/** Returns the gradient with respect to the hidden states: of each token, the sum over the positions that read it. */
function spreadPositions(options: {
  readonly graph: Graph;
  readonly hidden: Tensor;
  readonly byPositions: Tensor;
  readonly shares: boolean;
}): Tensor {
  const { graph, hidden, byPositions, shares } = options;
  const width = knownDimension(hidden, 1);
  const none = graph.constant(new Float32Array(width), [1, width]);
  const extended = concatenate([byPositions, none], 0, "positions+1");
  const own = gatherRows(extended, graph.input("positionOf", "int32", [shares ? "own" : "tokens"]));
  if (!shares) return own;
  const copies = gatherRows(extended, graph.input("sharedPositions", "int32", ["shared", "copies"]));
  return concatenate([reduceSum(copies, [1]), own], 0, "tokens");
}
