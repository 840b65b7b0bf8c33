import type { DecoderConfig } from "../../../model-folders/architecture/decoder-config.ts";
import { add } from "../graph/elementwise.ts";
import { layerNorm } from "../graph/layer-norm.ts";
import { rmsNorm } from "../graph/neural.ts";
import type { Tensor } from "../graph/tensor.ts";
import type { GraphParameters } from "./graph-parameters.ts";

/** Applies a decoder's norm to the last axis, with the parameters of a module. */
export function norm(
  { config, parameters }: { readonly config: DecoderConfig; readonly parameters: GraphParameters },
  x: Tensor,
  module: string,
): Tensor {
  const weight = parameters.tensor(`${module}.weight`);
  const epsilon = config.normEpsilon;
  switch (config.architecture.norm) {
    case "rms":
      return rmsNorm(x, weight, epsilon);
    case "rms-offset":
      return rmsNorm(x, add(weight, x.graph.scalar(1)), epsilon);
    case "layer":
      return layerNorm(x, { weight, bias: parameters.tensor(`${module}.bias`), epsilon });
  }
}
