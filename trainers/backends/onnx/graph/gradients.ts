import { add } from "./elementwise.ts";
import type { InputGradient, TapeEntry } from "./graph.ts";
import type { Tensor } from "./tensor.ts";

/**
 * Reverse-mode differentiation. Appends to the graph what computes, for each tensor of `by`, the gradient of
 * sum over i of <outputs[i].gradient, outputs[i].tensor>: with a scalar loss and gradient 1, the gradient of the
 * loss. A tensor that no output depends on has no gradient and gives undefined.
 *
 * Gradients by leaves (what no operator computed: parameters) are appended after all others, in the order of `by`. The
 * runtime takes the last of them first, with what it needs, so that with parameters in the order of their use each is
 * computed as soon as it can be: from values that are still in the caches, which are then free.
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
    // Not as a product's addend: the runtime copies that first, which takes longer than an addition.
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
      if (gradient === undefined) throw new Error(`${entry.name} has no gradient by input ${i}.`);
      accumulate(input, gradient);
    });
  }
  for (const [leaf, later] of leaves) for (const gradient of later) append(leaf, gradient);
  return by.map((tensor) => sums.get(tensor));
}

/** Every tensor that a change of one of `sources` could change. */
function dependsOn(tape: readonly TapeEntry[], sources: readonly Tensor[]): Set<Tensor> {
  const dependent = new Set<Tensor>(sources);
  for (const entry of tape) {
    if (!entry.inputs.some((input) => input !== undefined && dependent.has(input))) continue;
    for (const output of entry.outputs) dependent.add(output);
  }
  return dependent;
}
