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

/** Returns the activation for a name in `config.json`. Throws `model.unsupported` for other names. */
export function readActivation(name: string): Activation {
  const found = Object.hasOwn(names, name) ? names[name] : undefined;
  if (found === undefined) {
    throw unsupportedConfig(`the activation "${name}"`, `supported activations: ${Object.keys(names).join(", ")}`);
  }
  return found;
}
