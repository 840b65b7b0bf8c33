import type { ModelSize } from "./model-size.ts";

/** The bytes of weights, gradients and optimizer state. */
export interface StateMemory {
  readonly weights: number;
  readonly gradients: number;
  /** The two moments of Adam, and the float32 copy of 16-bit weights. */
  readonly optimizer: number;
}

/**
 * Returns the bytes of weights, gradients and Adam's state on one of `gpus` devices.
 *
 * Source: Rajbhandari et al. 2020, "ZeRO" (https://arxiv.org/abs/1910.02054), section 3.1: in 16-bit precision with
 * Adam, a parameter needs 2 bytes, its gradient 2, and the float32 copy, momentum and variance 12 (16 in total). In
 * float32 there is no copy: 4, 4 and 8. With FSDP, which is ZeRO's stage 3 (section 5), each of N devices has 1/N of
 * all three. With an adapter, the base has only weights. Several learners with adapters share one base.
 */
export function stateMemory(
  size: ModelSize,
  options: { readonly precision: "bfloat16" | "float16" | "float32"; readonly gpus: number; readonly learners: number },
): StateMemory {
  const { precision, gpus, learners } = options;
  const bytes = precision === "float32" ? 4 : 2;
  const optimizer = precision === "float32" ? 8 : 12;
  const base = size.adapter === 0 ? size.parameters * learners : size.parameters + size.adapter * learners;
  const trained = size.trained * learners;
  return {
    weights: (bytes * base) / gpus,
    gradients: (bytes * trained) / gpus,
    optimizer: (optimizer * trained) / gpus,
  };
}
