import { supportWords } from "../../../../src/contract/token-support.ts";
import type { LossTerm } from "../../../backend/loss-term.ts";
import type { ForwardOutput } from "../../../backend/training-backend.ts";
import { headName } from "../../../model-folders/architecture/parameters.ts";
import { add } from "../graph/elementwise.ts";
import { gatherRows } from "../graph/gather.ts";
import { concatenate } from "../graph/shape.ts";
import type { Tensor } from "../graph/tensor.ts";
import { type BoundTerm, bindTerms } from "../loss-graphs/bound-term.ts";
import { lossHead } from "../loss-graphs/loss-head.ts";
import type { TokenTerm } from "../loss-graphs/token-loss.ts";
import { type ValueTerm, valueHead } from "../loss-graphs/value-head.ts";
import type { DecoderParts } from "./decoder.ts";
import { valueBiasName, valueWeightName } from "./value-head.ts";

/** The gradients of a step's loss with respect to the inputs and the parameters of its heads. */
export interface HeadGradients {
  /** (positions, hiddenSize): with respect to the hidden states at the positions. Undefined without terms. */
  readonly hidden: Tensor | undefined;
  /** With respect to the heads' own parameters, if they have a gradient. */
  readonly parameters: ReadonlyMap<string, Tensor | undefined>;
}

/**
 * Builds the heads over the hidden states (tokens, hiddenSize) of a training graph, with the loss: the vocabulary head
 * if its logits are needed, and the value head if values are needed. Declares the inputs per position with loss and the
 * outputs that `buildTrainingGraph` lists.
 */
export function trainingHeads(options: {
  readonly parts: DecoderParts;
  readonly hidden: Tensor;
  readonly terms: readonly LossTerm[];
  readonly outputs: readonly ForwardOutput[];
  readonly chunks: number;
  readonly truncated?: boolean;
  readonly wantWeightGradient: boolean;
}): HeadGradients {
  const { parts, outputs } = options;
  const { graph } = options.hidden;
  const perPosition = (name: string): Tensor => graph.input(name, "float32", ["positions"]);
  const hidden = gatherRows(options.hidden, graph.input("rows", "int32", ["positions"]));
  const mask = perPosition("weights");
  const lossScale = graph.precision === "float16" ? graph.input("lossScale", "float32", []) : graph.scalar(1);
  const terms = bindTerms(graph, options.terms);
  const tokenTerms = terms.filter(isTokenTerm);
  const valueTerms = terms.filter(isValueTerm);
  const vocabularyWeight = headName(parts.config);
  const overVocabulary = needsLogits(options)
    ? lossHead({
        hidden,
        weight: parts.parameters.weight(vocabularyWeight),
        positions: {
          targets: graph.input("targets", "int32", ["positions"]),
          inverseTemperature: perPosition("inverseTemperature"),
          mask,
          advantages: perPosition("advantages"),
          behaviour: perPosition("behaviour"),
          reference: perPosition("reference"),
          supports: options.truncated
            ? graph.input("supports", "int32", ["positions", supportWords(parts.config.vocabularySize)])
            : undefined,
        },
        terms: tokenTerms,
        lossScale,
        chunks: options.chunks,
        wantEntropy: outputs.includes("entropy"),
        wantWeightGradient: options.wantWeightGradient,
      })
    : undefined;
  // The value head is in the trained block.
  const trained = parts.adapter?.parameters ?? parts.parameters;
  const value =
    valueTerms.length > 0 || outputs.includes("values")
      ? valueHead({
          hidden,
          weight: trained.tensor(valueWeightName),
          bias: trained.tensor(valueBiasName),
          terms: valueTerms,
          lossScale,
          inputs: () => ({ mask, returns: perPosition("returns"), oldValues: perPosition("oldValues") }),
        })
      : undefined;
  const sums = new Map<BoundTerm, Tensor>();
  for (const [i, term] of tokenTerms.entries()) sums.set(term, overVocabulary!.sums[i]!);
  for (const [i, term] of valueTerms.entries()) sums.set(term, value!.sums[i]!);
  const inOrder = terms.map((term) => sums.get(term)!);
  if (inOrder.length > 0) graph.output("terms", concatenate(inOrder, 0, inOrder.length));
  if (outputs.includes("logprobs")) graph.output("logprobs", overVocabulary!.logprobs);
  if (outputs.includes("entropy")) graph.output("entropy", overVocabulary!.entropy!);
  if (outputs.includes("values")) graph.output("values", value!.values);
  const [first, second] = [overVocabulary?.hiddenGradient, value?.gradients?.hidden];
  return {
    hidden: first === undefined || second === undefined ? (first ?? second) : add(first, second),
    parameters: new Map([
      [vocabularyWeight, overVocabulary?.weightGradient],
      [valueWeightName, value?.gradients?.weight],
      [valueBiasName, value?.gradients?.bias],
    ]),
  };
}

/** True if a graph needs the vocabulary head. A critic does not. */
export function needsLogits(options: {
  readonly terms: readonly LossTerm[];
  readonly outputs: readonly ForwardOutput[];
}): boolean {
  return options.terms.some(({ type }) => type !== "value") || options.outputs.some((output) => output !== "values");
}

function isTokenTerm(bound: BoundTerm): bound is BoundTerm<TokenTerm> {
  return bound.term.type !== "value";
}

function isValueTerm(bound: BoundTerm): bound is BoundTerm<ValueTerm> {
  return bound.term.type === "value";
}
