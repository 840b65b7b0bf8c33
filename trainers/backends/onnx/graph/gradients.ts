import { add } from "./elementwise.ts";
import type { InputGradient, TapeEntry } from "./graph.ts";
import type { Tensor } from "./tensor.ts";

/**
 * Differentiates a graph in reverse mode. Appends nodes that compute, for each tensor of `by`, the gradient of the sum
 * over i of <outputs[i].gradient, outputs[i].tensor>. With a scalar loss and gradient 1, that is the gradient of the
 * loss. Returns undefined for a tensor that no output depends on.
 *
 * The gradients of leaves (tensors that no operator computes, such as parameters) are appended after all others, in the
 * order of `by`. The runtime executes the last of them first, with their inputs. If parameters are in the order of
 * their use, each gradient is computed as early as possible, while its inputs are still in the processor's cache, and
 * their memory is freed.
 */
export function gradients(options: {
  readonly outputs: readonly { readonly tensor: Tensor; readonly gradient: Tensor }[];
  readonly by: readonly Tensor[];
}): (Tensor | undefined)[] {
  const { outputs, by } = options;
  const graph = outputs[0]!.tensor.graph;
  const tape = [...graph.tape];
  const dependent = dependsOn(tape, by);
  const sums = new Map<Tensor, Tensor>();
  const computed = new Set(tape.flatMap((entry) => entry.outputs));
  const leaves = new Map<Tensor, InputGradient[]>();
  for (const tensor of by) if (!computed.has(tensor)) leaves.set(tensor, []);
  const accumulate = (tensor: Tensor, gradient: InputGradient): void => {
    const later = leaves.get(tensor);
    if (later === undefined) append(tensor, gradient);
    else later.push(gradient);
  };
  const append = (tensor: Tensor, gradient: InputGradient): void => {
    // The sum is not a product's addend, because the runtime copies an addend first. That takes longer than an
    // addition.
    const sum = sums.get(tensor);
    sums.set(tensor, sum === undefined ? gradient() : add(sum, gradient()));
  };
  for (const { tensor, gradient } of outputs) if (dependent.has(tensor)) accumulate(tensor, () => gradient);
  for (const entry of tape.toReversed()) {
    if (!entry.outputs.some((output) => sums.has(output) && dependent.has(output))) continue;
    if (entry.gradient === undefined) throw new Error(`${entry.name} has no gradient rule.`);
    const inputGradients = entry.gradient(entry.outputs.map((output) => sums.get(output)));
    entry.inputs.forEach((input, i) => {
      if (input === undefined || !dependent.has(input)) return;
      const gradient = inputGradients[i];
      if (gradient === undefined) throw new Error(`${entry.name} has no gradient for input ${i}.`);
      accumulate(input, gradient);
    });
  }
  for (const [leaf, later] of leaves) for (const gradient of later) append(leaf, gradient);
  return by.map((tensor) => sums.get(tensor));
}

/** Returns all tensors that depend on one of `sources`. */
function dependsOn(tape: readonly TapeEntry[], sources: readonly Tensor[]): Set<Tensor> {
  const dependent = new Set<Tensor>(sources);
  for (const entry of tape) {
    if (!entry.inputs.some((input) => input !== undefined && dependent.has(input))) continue;
    for (const output of entry.outputs) dependent.add(output);
  }
  return dependent;
}
