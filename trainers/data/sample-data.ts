import { type Datum, datumFromIds } from "../backend/datum.ts";
import type { TrainingSample } from "./training-sample.ts";

/** One datum per sequence of a sample: mask 1 and the sample's advantage on each sampled token, 0 elsewhere. */
export function sampleData(sample: TrainingSample): Datum[] {
  return sample.sequences.map(({ ids, mask, logprobs, temperature, weightsVersion }) => {
    const datum = datumFromIds({ ids, mask, logprobs, temperature, weightsVersion });
    const { advantage } = sample;
    if (advantage === undefined) return datum;
    return { ...datum, advantages: datum.lossMask.map((weight) => weight * advantage) };
  });
}

/** The datum with its loss mask and advantages multiplied: how an average is made of a sum. */
export function scaleDatum(datum: Datum, scale: number): Datum {
  return {
    ...datum,
    lossMask: datum.lossMask.map((weight) => weight * scale),
    ...(datum.advantages === undefined ? {} : { advantages: datum.advantages.map((advantage) => advantage * scale) }),
  };
}

/** The number of targets that are trained on. */
export function trainedTokens(datum: Datum): number {
  let count = 0;
  for (const weight of datum.lossMask) if (weight !== 0) count++;
  return count;
}
