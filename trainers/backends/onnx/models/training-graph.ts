import type { LossTerm } from "../../../backend/loss-term.ts";
import { add } from "../graph/elementwise.ts";
import { gatherRows } from "../graph/gather.ts";
import { gradients } from "../graph/gradients.ts";
import { Graph } from "../graph/graph.ts";
import { concatenate } from "../graph/shape.ts";
import type { Tensor } from "../graph/tensor.ts";
import { lossHead } from "../losses/loss-head.ts";
import { termCoefficients } from "../losses/token-loss.ts";
import { type DecoderParts, decoderBody } from "./decoder.ts";
import type { DecoderConfig } from "./decoder-config.ts";
import { type BoundParameter, GraphParameters } from "./graph-parameters.ts";
import type { ParameterBlock } from "./parameter-block.ts";
import { embeddingName, headName } from "./parameters.ts";
import { sequenceInputs } from "./sequence-inputs.ts";
import { trainingAttention } from "./training-attention.ts";

/** What a training graph computes. */
export interface TrainingGraphOptions {
  readonly config: DecoderConfig;
  readonly base: ParameterBlock;
  readonly adapter?: { readonly block: ParameterBlock; readonly scale: number };
  /** Which block gets gradients; none gives a graph that only evaluates. */
  readonly trains: "base" | "adapter" | "nothing";
  readonly terms: readonly LossTerm[];
  readonly chunks: number;
  /** Into how many blocks attention cuts the sequences. */
  readonly blocks: number;
  readonly wantEntropy: boolean;
  readonly placement: "input" | "constant";
  readonly device: string;
}

/** A training graph with the names of what it reads and gives. */
export interface TrainingGraph {
  readonly graph: Graph;
  readonly baseParameters: readonly BoundParameter[];
  readonly adapterParameters: readonly BoundParameter[];
  /** Gradient outputs by the name of their parameter: output `gradient:<name>`. */
  readonly gradientNames: readonly string[];
}

/**
 * Forward, loss, backward in one graph. Inputs: those of {@link sequenceInputs}, and per position with loss `rows`, `targets`,
 * `inverseTemperature`, `weights`, `advantages`, `behaviour`, `reference`; `returns` (tokens) says which position
 * each token's hidden state fed, or the number of positions where none. Outputs: `terms`, `logprobs`, `entropy`,
 * and the gradients.
 */
export function buildTrainingGraph(options: TrainingGraphOptions): TrainingGraph {
  const { config, terms } = options;
  const graph = new Graph({ target: options.device });
  const basePlacement = options.trains === "base" ? "input" : options.placement;
  const base = new GraphParameters({ graph, block: options.base, placement: basePlacement });
  const adapter =
    options.adapter === undefined
      ? undefined
      : {
          parameters: new GraphParameters({ graph, block: options.adapter.block, placement: "input" }),
          scale: options.adapter.scale,
        };
  const parts: DecoderParts = {
    config,
    parameters: base,
    ...(adapter === undefined ? {} : { adapter }),
  };
  const { ids, rotary, layout, mask } = sequenceInputs(graph, config);
  const hidden = decoderBody(parts, {
    ids,
    rotary,
    attention: trainingAttention(config, { layout, mask, blocks: options.blocks }),
  });
  const perPosition = (name: string): Tensor => graph.input(name, "float32", ["positions"]);
  const head = lossHead({
    hidden,
    weight: base.tensor(config.tiedEmbeddings ? embeddingName : headName),
    positions: {
      rows: graph.input("rows", "int32", ["positions"]),
      targets: graph.input("targets", "int32", ["positions"]),
      inverseTemperature: perPosition("inverseTemperature"),
      mask: perPosition("weights"),
      advantages: perPosition("advantages"),
      behaviour: perPosition("behaviour"),
      reference: perPosition("reference"),
    },
    terms,
    coefficients: coefficientInputs(graph, terms),
    chunks: options.chunks,
    wantEntropy: options.wantEntropy,
    wantWeightGradient: options.trains === "base",
  });
  if (head.terms !== undefined) graph.output("terms", head.terms);
  graph.output("logprobs", head.logprobs);
  if (options.wantEntropy) graph.output("entropy", head.entropy!);
  const gradientNames =
    options.trains === "nothing" || terms.length === 0
      ? []
      : outputGradients({
          graph,
          parameters: options.trains === "base" ? base : adapter!.parameters,
          hidden,
          head: { name: config.tiedEmbeddings ? embeddingName : headName, ...head },
        });
  return {
    graph,
    baseParameters: base.bound,
    adapterParameters: adapter?.parameters.bound ?? [],
    gradientNames,
  };
}

/** Carries the head's gradient back through the body and outputs one gradient per parameter. */
function outputGradients(options: {
  readonly graph: Graph;
  readonly parameters: GraphParameters;
  readonly hidden: Tensor;
  readonly head: {
    readonly name: string;
    readonly hiddenGradient: Tensor | undefined;
    readonly weightGradient: Tensor | undefined;
  };
}): string[] {
  const { graph, parameters, hidden, head } = options;
  const width = hidden.shape[1] as number;
  const none = graph.constant(new Float32Array(width), [1, width]);
  const extended = concatenate([head.hiddenGradient!, none], 0, "positions+1");
  const hiddenGradient = gatherRows(extended, graph.input("returns", "int32", ["tokens"]));
  const tensors = parameters.bound.map(({ name }) => parameters.tensor(...name.split("+")));
  const found = gradients({ outputs: [{ tensor: hidden, gradient: hiddenGradient }], by: tensors });
  return parameters.bound.map(({ name }, i) => {
    const own = found[i];
    const fromHead = name === head.name ? head.weightGradient : undefined;
    const gradient = own === undefined ? fromHead : fromHead === undefined ? own : add(own, fromHead);
    graph.output(`gradient:${name}`, gradient!);
    return name;
  });
}

/** The terms' numbers as inputs named `term<i>.<name>`, so that they may change between runs. */
function coefficientInputs(graph: Graph, terms: readonly LossTerm[]): (term: number, name: string) => Tensor {
  const inputs = terms.map((term, i) =>
    Object.fromEntries(
      Object.keys(termCoefficients(term)).map((name) => [name, graph.input(`term${i}.${name}`, "float32", [])]),
    ),
  );
  return (term, name) => inputs[term]![name]!;
}
