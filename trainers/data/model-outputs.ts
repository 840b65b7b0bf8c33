import type { ActivityMeter } from "../../src/core/training-progress.ts";
import type { Datum } from "../backend/datum.ts";
import type { ForwardOutput, Model, PassOptions } from "../backend/training-backend.ts";

/** Computes one output of a model for every datum, in order. The meter counts the data that are done. */
export async function modelOutputs(
  data: readonly Datum[],
  options: Omit<PassOptions, "onProgress"> & {
    readonly model: Model;
    readonly output: ForwardOutput;
    readonly meter?: ActivityMeter;
  },
): Promise<Float32Array[]> {
  const { model, output, meter, maxTokensPerMicroBatch, signal } = options;
  if (data.length === 0) return [];
  meter?.expect(data.length);
  const results = await model.forward(data, {
    outputs: [output],
    maxTokensPerMicroBatch,
    signal,
    onProgress: ({ sequences }) => meter?.add(sequences),
  });
  return results.map((result) => result[output]!);
}
