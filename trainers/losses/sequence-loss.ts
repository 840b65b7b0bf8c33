import type { Datum } from "../backend/datum.ts";

/** What a sequence-level loss looks at: everything of one training sample. */
export interface SequenceInput {
  readonly data: readonly Datum[];
  /** Current log-probabilities of the targets, per datum. */
  readonly logprobs: readonly Float32Array[];
  /** How many of the data, counted from the first, are the preferred answer; the rest are the other one. */
  readonly preferred: number;
  /** Added to the margin between the two answers; 0 by default. */
  readonly marginOffset?: number;
}

/** A sequence-level loss of one sample, with its derivative with respect to every log-probability. */
export interface SequenceLossValue {
  readonly value: number;
  /** Per datum, as long as its targets; 0 where the loss mask is 0. */
  readonly derivatives: readonly Float32Array[];
  /** Means over samples are shown, under `loss-<name>`. */
  readonly metrics: Readonly<Record<string, number>>;
}

/**
 * A loss that is no sum over tokens. It needs a forward pass of its own: its derivatives then become the advantages of
 * a policy-gradient term, whose gradient is the same, on any backend. Averaged over samples.
 */
export interface SequenceLoss {
  readonly id: string;
  /** True where it reads `referenceLogprobs`. */
  readonly needsReference: boolean;
  evaluate(input: SequenceInput): SequenceLossValue;
}
