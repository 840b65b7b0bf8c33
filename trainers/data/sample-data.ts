import type { TokenSequence } from "../../src/contract/episode.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { type Datum, datumFromIds } from "../backend/datum.ts";
import type { PerToken, TrainingSample } from "./training-sample.ts";
import { valueDatum } from "./value-datum.ts";

/**
 * The data of one sample. For a preference, the first `preferred` data are the better answer. Otherwise `preferred`
 * counts all data.
 */
export interface SampleData {
  readonly data: readonly Datum[];
  readonly preferred: number;
  /** The extra states that a value head on the policy learns; see `Loss.stateValues`. */
  readonly states?: readonly Datum[];
  readonly marginOffset?: number;
}

/**
 * Returns one datum per sequence of a sample. The mask is 1 on each sampled token and 0 elsewhere, and sampled tokens
 * have the advantage.
 */
export function sampleData(sample: TrainingSample): SampleData {
  const { sequences, rejected = [] } = sample;
  const data = sequences.map((sequence, i) => sequenceDatum(sequence, sample, i));
  return {
    data: [...data, ...rejected.map((sequence) => datumFromIds(sequence))],
    preferred: data.length,
    ...(sample.states === undefined ? {} : { states: sample.states.map(valueDatum) }),
    ...(sample.marginOffset === undefined ? {} : { marginOffset: sample.marginOffset }),
  };
}

function sequenceDatum(sequence: TokenSequence, sample: TrainingSample, i: number): Datum {
  const { advantage, values, weights } = sample;
  const datum = datumFromIds(weights === undefined ? sequence : { ...sequence, mask: weights[i]! });
  if (advantage === undefined) return datum;
  if (sequence.lacksSupports) throw unknownSupport(sequence);
  const advantages = typeof advantage === "number" ? datum.lossMask.map(() => advantage) : perTarget(advantage, i);
  return {
    ...datum,
    advantages: advantages.map((value, t) => (datum.lossMask[t] === 0 ? 0 : value * datum.lossMask[t]!)),
    ...(values === undefined ? {} : { returns: perTarget(values.returns, i), oldValues: perTarget(values.old, i) }),
  };
}

/** The ratio of two policies needs both distributions over the same tokens. */
function unknownSupport({ agent }: TokenSequence): LyceumError {
  return new LyceumError({
    code: "policy.unsupported-input",
    message: `Tokens of agent "${agent}" were sampled with top-k, top-p or min-p, but their supports (the tokens that they were drawn from) were not recorded.`,
    hint: "Sample with `supports: true`, as `train` does, or without top-k, top-p and min-p. Completions of a server have no supports.",
    data: { agent },
  });
}

function perTarget(values: PerToken, sequence: number): Float32Array {
  return Float32Array.from(values[sequence]!.slice(1));
}

/**
 * Returns the datum with its loss mask and advantages multiplied by a factor. This turns a sum over tokens into an
 * average.
 */
export function scaleDatum(datum: Datum, scale: number): Datum {
  return {
    ...datum,
    lossMask: datum.lossMask.map((weight) => weight * scale),
    ...(datum.advantages === undefined ? {} : { advantages: datum.advantages.map((advantage) => advantage * scale) }),
  };
}

/** Returns the number of targets that are trained on. */
export function trainedTokens(datum: Datum): number {
  let count = 0;
  for (const weight of datum.lossMask) if (weight !== 0) count++;
  return count;
}
