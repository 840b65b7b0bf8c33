import { add } from "./elementwise.ts";
import type { GraphNode } from "./graph.ts";
import type { Tensor } from "./tensor.ts";

/**
 * Reverse-mode differentiation. Appends to the graph what computes, for each tensor of `by`, the gradient of
 * sum over i of <outputs[i].gradient, outputs[i].tensor>: with a scalar loss and gradient 1, the gradient of the
 * loss. A tensor that no output depends on has no gradient and gives undefined.
 */
export function gradients(options: {
  readonly outputs: readonly { readonly tensor: Tensor; readonly gradient: Tensor }[];
  readonly by: readonly Tensor[];
}): (Tensor | undefined)[] {
  const { outputs, by } = options;
  const graph = outputs[0]!.tensor.graph;
  const nodes = [...graph.nodes];
  const dependent = dependsOn(nodes, by);
  const accumulated = new Map<Tensor, Tensor>();
  const accumulate = (tensor: Tensor, gradient: Tensor): void => {
    const known = accumulated.get(tensor);
    accumulated.set(tensor, known === undefined ? gradient : add(known, gradient));
  };
  for (const { tensor, gradient } of outputs) if (dependent.has(tensor)) accumulate(tensor, gradient);
  for (const node of nodes.toReversed()) {
    if (!node.outputs.some((output) => accumulated.has(output) && dependent.has(output))) continue;
    if (node.gradient === undefined) throw new Error(`Operator ${node.operator} has no gradient rule.`);
    const inputGradients = node.gradient(node.outputs.map((output) => accumulated.get(output)));
    node.inputs.forEach((input, i) => {
      if (input === undefined || !dependent.has(input)) return;
      const gradient = inputGradients[i];
      if (gradient === undefined) throw new Error(`Operator ${node.operator} has no gradient by input ${i}.`);
      accumulate(input, gradient());
    });
  }
  return by.map((tensor) => accumulated.get(tensor));
}

/** Every tensor that a change of one of `sources` could change. */
function dependsOn(nodes: readonly GraphNode[], sources: readonly Tensor[]): Set<Tensor> {
  const dependent = new Set<Tensor>(sources);
  for (const node of nodes) {
    if (!node.inputs.some((input) => input !== undefined && dependent.has(input))) continue;
    for (const output of node.outputs) dependent.add(output);
  }
  return dependent;
}
