import { multiply } from "../graph/elementwise.ts";
import { gelu } from "../graph/gelu.ts";
import { silu, swiglu } from "../graph/neural.ts";
import type { Tensor } from "../graph/tensor.ts";
import { unsupportedConfig } from "./config-fields.ts";

/** The activations of feed-forward units. `gelu-tanh` is the approximation of GELU that GPT-2 was trained with. */
export type Activation = "silu" | "gelu" | "gelu-tanh";

const names: Readonly<Record<string, Activation>> = {
  silu: "silu",
  swish: "silu",
  gelu: "gelu",
  gelu_new: "gelu-tanh",
  gelu_pytorch_tanh: "gelu-tanh",
};

/** The activation of a name in `config.json`. Throws `model.unsupported` for another. */
export function readActivation(name: string): Activation {
  const found = Object.hasOwn(names, name) ? names[name] : undefined;
  if (found === undefined) {
    throw unsupportedConfig(`the activation "${name}"`, `these are built: ${Object.keys(names).join(", ")}`);
  }
  return found;
}

/** The feed-forward unit of its inputs, gate and up or one alone, with a gradient. */
export function feedForwardUnit(activation: Activation, inputs: readonly Tensor[]): Tensor {
  const [first, up] = inputs as [Tensor, Tensor?];
  if (activation === "silu" && up !== undefined) return swiglu(first, up);
  const activated = activate(activation, first);
  return up === undefined ? activated : multiply(activated, up);
}

/** An activation by itself. */
function activate(activation: Activation, x: Tensor): Tensor {
  return activation === "silu" ? silu(x) : gelu(x, { approximate: activation === "gelu-tanh" });
}
