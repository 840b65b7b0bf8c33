import type { LossTerm } from "../../../backend/loss-term.ts";
import type { Graph } from "../graph/graph.ts";
import type { Tensor } from "../graph/tensor.ts";

/** A loss term in a graph. Its coefficients are inputs of the graph. */
export interface BoundTerm<Term extends LossTerm = LossTerm> {
  readonly term: Term;
  /** Returns a scalar by its name in {@link termCoefficients}. */
  readonly coefficient: (name: string) => Tensor;
}

/** Declares each coefficient of the terms as an input `term<i>.<name>`, so that it can change between runs. */
export function bindTerms(graph: Graph, terms: readonly LossTerm[]): BoundTerm[] {
  return terms.map((term, i) => {
    const inputs = Object.fromEntries(
      Object.keys(termCoefficients(term)).map((name) => [name, graph.input(`term${i}.${name}`, "float32", [])]),
    );
    return { term, coefficient: (name) => inputs[name]! };
  });
}

/** Returns the numbers of a term that can change between steps without a new graph. */
export function termCoefficients(term: LossTerm): Record<string, number> {
  const weight = term.weight ?? 1;
  if (term.type === "ppo" || term.type === "cispo") {
    return { weight, low: 1 - term.clipLow, high: 1 + term.clipHigh };
  }
  if (term.type === "value" && term.clip !== undefined) return { weight, low: -term.clip, high: term.clip };
  return { weight };
}

/** Returns a key for everything in a term that determines the graph's structure. */
export function termStructure(term: LossTerm): string {
  if (term.type === "kl") return `kl-${term.estimator}`;
  if (term.type === "value" && term.clip !== undefined) return "value-clipped";
  return term.type;
}
