import type { Activation } from "../../../model-folders/architecture/activation.ts";
import { multiply } from "../graph/elementwise.ts";
import { gelu } from "../graph/gelu.ts";
import { silu, swiglu } from "../graph/neural.ts";
import type { Tensor } from "../graph/tensor.ts";

/** Applies the feed-forward unit: activation(gate) up for two inputs, activation(hidden) for one. */
export function feedForwardUnit(activation: Activation, inputs: readonly Tensor[]): Tensor {
  const [first, up] = inputs as [Tensor, Tensor?];
  if (activation === "silu" && up !== undefined) return swiglu(first, up);
  const activated = activation === "silu" ? silu(first) : gelu(first, { approximate: activation === "gelu-tanh" });
  if (up === undefined) return activated;
  const output = multiply(activated, up);
  // The factors are kept. They are swapped, because the runtime computes equal operators once.
  output.graph.recompute(output, () => multiply(up, activated));
  return output;
}
