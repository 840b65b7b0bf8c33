import type { DecoderConfig } from "../model-folders/architecture/decoder-config.ts";
import { type ActivationSizes, activationSizes } from "../model-folders/architecture/kept-activations.ts";
import { groupsOf } from "../model-folders/architecture/linear-groups.ts";
import { loraParameters } from "../model-folders/architecture/lora-layers.ts";
import { decoderParameters, type ParameterSpec } from "../model-folders/architecture/parameters.ts";

/** The counts of a decoder that memory and time depend on. */
export interface ModelSize extends ActivationSizes {
  /** All parameters. A matrix that is embedding and output head counts once. */
  readonly parameters: number;
  /** The weights of the linear layers of all blocks, without biases. */
  readonly blockWeights: number;
  /** The weights of the output head, also if it is the embedding. */
  readonly headWeights: number;
  /** The parameters that are trained: all of them, or those of an adapter. */
  readonly trained: number;
  /** The parameters of the adapter. 0 without one. */
  readonly adapter: number;
  readonly vocabularySize: number;
  /** The largest number of tokens of one sequence. */
  readonly maxPositions: number;
}

/** The parameters that a training changes. `full`: every weight. `lora`: adapters on linear layers. */
export type TrainedPart =
  | { readonly type: "full" }
  | { readonly type: "lora"; readonly rank?: number | undefined; readonly targets?: readonly string[] | undefined };

/** The rank of adapters if a config sets none. */
const defaultRank = 16;

/** Counts the parameters of a decoder from the shapes that the embedded engine builds, so that the counts are exact. */
export function modelSize(config: DecoderConfig, part: TrainedPart = { type: "full" }): ModelSize {
  const { layers, hiddenSize, vocabularySize, linear } = config;
  const parameters = countParameters(decoderParameters(config));
  const block = groupsOf(linear).flatMap((group) => group.layers);
  const adapter =
    part.type === "full"
      ? 0
      : countParameters(loraParameters(config, { rank: part.rank ?? defaultRank, targets: part.targets }));
  return {
    parameters,
    blockWeights: layers * block.reduce((sum, { inputs, outputs }) => sum + inputs * outputs, 0),
    headWeights: vocabularySize * hiddenSize,
    trained: part.type === "full" ? parameters : adapter,
    adapter,
    ...activationSizes(config),
    vocabularySize,
    maxPositions: config.maxPositions,
  };
}

function countParameters(specs: readonly ParameterSpec[]): number {
  return specs.reduce((sum, { shape }) => sum + shape.reduce((product, size) => product * size, 1), 0);
}
