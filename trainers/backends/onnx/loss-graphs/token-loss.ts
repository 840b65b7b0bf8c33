import { match } from "ts-pattern";
import type { LossTerm } from "../../../backend/loss-term.ts";
import { clip, exp, minimum, multiply, negate, stopGradient, subtract } from "../graph/elementwise.ts";
import type { Graph } from "../graph/graph.ts";
import type { Tensor } from "../graph/tensor.ts";
import type { BoundTerm } from "./bound-term.ts";

/** The inputs of a loss term at each position with loss. All shapes are (positions). */
export interface TokenInputs {
  readonly logprobs: Tensor;
  readonly mask: Tensor;
  readonly advantages: Tensor;
  readonly behaviour: Tensor;
  readonly reference: Tensor;
  readonly entropy: Tensor | undefined;
}

/** The loss terms over the vocabulary's output head. */
export type TokenTerm = Exclude<LossTerm, { readonly type: "value" }>;

/** Computes one term at each position. The formulas are in {@link LossTerm}. */
export function tokenLoss(bound: BoundTerm<TokenTerm>, inputs: TokenInputs): Tensor {
  return multiply(bound.coefficient("weight"), unweighted(bound, inputs));
}

function unweighted({ term, coefficient }: BoundTerm<TokenTerm>, inputs: TokenInputs): Tensor {
  const { logprobs, mask, advantages, behaviour, reference, entropy } = inputs;
  const graph: Graph = logprobs.graph;
  return match(term)
    .with({ type: "crossEntropy" }, () => negate(multiply(mask, logprobs)))
    .with({ type: "policyGradient" }, () => negate(multiply(advantages, logprobs)))
    .with({ type: "importanceSampling" }, () => negate(multiply(exp(subtract(logprobs, behaviour)), advantages)))
    .with({ type: "ppo" }, () => {
      const ratio = exp(subtract(logprobs, behaviour));
      const clipped = clip(ratio, coefficient("low"), coefficient("high"));
      return negate(minimum(multiply(ratio, advantages), multiply(clipped, advantages)));
    })
    .with({ type: "cispo" }, () => {
      const ratio = exp(subtract(logprobs, behaviour));
      const clipped = stopGradient(clip(ratio, coefficient("low"), coefficient("high")));
      return negate(multiply(multiply(clipped, advantages), logprobs));
    })
    .with({ type: "kl" }, ({ estimator }) => {
      const difference = subtract(reference, logprobs);
      return match(estimator)
        .with("k1", () => negate(multiply(mask, difference)))
        .with("k2", () => multiply(mask, multiply(graph.scalar(0.5), multiply(difference, difference))))
        .with("k3", () => multiply(mask, subtract(subtract(exp(difference), difference), graph.scalar(1))))
        .exhaustive();
    })
    .with({ type: "entropy" }, () => negate(multiply(mask, entropy!)))
    .exhaustive();
}
