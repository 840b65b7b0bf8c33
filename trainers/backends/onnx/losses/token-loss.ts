import type { LossTerm } from "../../../backend/loss-term.ts";
import { clip, exp, minimum, multiply, negate, subtract } from "../graph/elementwise.ts";
import type { Graph } from "../graph/graph.ts";
import type { Tensor } from "../graph/tensor.ts";

/** What a loss term reads at each position that carries loss: (positions) each. */
export interface TokenInputs {
  readonly logprobs: Tensor;
  readonly mask: Tensor;
  readonly advantages: Tensor;
  readonly behaviour: Tensor;
  readonly reference: Tensor;
  readonly entropy: Tensor | undefined;
}

/** The numbers of a term that may change from step to step without a new graph. */
export function termCoefficients(term: LossTerm): Record<string, number> {
  const weight = term.weight ?? 1;
  return term.type === "ppo" ? { weight, low: 1 - term.clipLow, high: 1 + term.clipHigh } : { weight };
}

/** What of a term decides the graph's structure. */
export function termStructure(term: LossTerm): string {
  return term.type === "kl" ? `kl-${term.estimator}` : term.type;
}

/** The value of one term at each position; formulas in {@link LossTerm}. `coefficients` are scalars by name. */
export function tokenLoss(term: LossTerm, inputs: TokenInputs, coefficients: (name: string) => Tensor): Tensor {
  const weight = coefficients("weight");
  return multiply(weight, unweighted(term, inputs, coefficients));
}

function unweighted(term: LossTerm, inputs: TokenInputs, coefficients: (name: string) => Tensor): Tensor {
  const { logprobs, mask, advantages, behaviour, reference, entropy } = inputs;
  const graph: Graph = logprobs.graph;
  switch (term.type) {
    case "crossEntropy":
      return negate(multiply(mask, logprobs));
    case "policyGradient":
      return negate(multiply(advantages, logprobs));
    case "importanceSampling":
      return negate(multiply(exp(subtract(logprobs, behaviour)), advantages));
    case "ppo": {
      const ratio = exp(subtract(logprobs, behaviour));
      const clipped = clip(ratio, coefficients("low"), coefficients("high"));
      return negate(minimum(multiply(ratio, advantages), multiply(clipped, advantages)));
    }
    case "kl": {
      const difference = subtract(reference, logprobs);
      switch (term.estimator) {
        case "k1":
          return negate(multiply(mask, difference));
        case "k2":
          return multiply(mask, multiply(graph.scalar(0.5), multiply(difference, difference)));
        case "k3":
          return multiply(mask, subtract(subtract(exp(difference), difference), graph.scalar(1)));
      }
      break;
    }
    case "entropy":
      return negate(multiply(mask, entropy!));
  }
  throw new RangeError(`There is no loss term "${(term as LossTerm).type}".`);
}
