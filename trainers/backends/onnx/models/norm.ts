import type { DecoderConfig } from "../../../model-folders/architecture/decoder-config.ts";
import { layerNorm } from "../graph/layer-norm.ts";
import { rmsNorm } from "../graph/neural.ts";
import type { Tensor } from "../graph/tensor.ts";
import type { GraphParameters } from "./graph-parameters.ts";

/** Applies a decoder's norm to (..., hiddenSize), with the parameters of a module. */
export function norm(
  { config, parameters }: { readonly config: DecoderConfig; readonly parameters: GraphParameters },
  x: Tensor,
  module: string,
): Tensor {
  const weight = parameters.tensor(`${module}.weight`);
  const epsilon = config.normEpsilon;
  if (config.architecture.norm === "rms") return rmsNorm(x, weight, epsilon);
  return layerNorm(x, { weight, bias: parameters.tensor(`${module}.bias`), epsilon });
}
