import type { Datum } from "../backend/datum.ts";

/** The input of a sequence-level loss: the data of one training sample. */
export interface SequenceInput {
  readonly data: readonly Datum[];
  /** Current log-probabilities of the targets, per datum. */
  readonly logprobs: readonly Float32Array[];
  /** The number of data that belong to the preferred answer. They come first. The rest belong to the other answer. */
  readonly preferred: number;
  /** Added to the margin between the two answers; 0 by default. */
  readonly marginOffset?: number;
}

/** The value of a sequence-level loss for one sample, with its derivative with respect to every log-probability. */
export interface SequenceLossValue {
  readonly value: number;
  /** One array per datum, as long as its targets. 0 where the loss mask is 0. */
  readonly derivatives: readonly Float32Array[];
  /** Metrics of the sample by name, such as `preference/accuracy`. They are averaged over samples and reported. */
  readonly metrics: Readonly<Record<string, number>>;
}

/**
 * A loss that is not a sum over tokens, averaged over samples. It needs an extra forward pass. Its derivatives then
 * become the advantages of a policy-gradient term that has the same gradient, so it works on any backend.
 */
export interface SequenceLoss {
  readonly id: string;
  /** True if it reads `referenceLogprobs`. */
  readonly needsReference: boolean;
  evaluate(input: SequenceInput): SequenceLossValue;
}
