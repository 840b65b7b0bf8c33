import type { ActivityMeter } from "../../src/core/training-progress.ts";
import type { Datum } from "../backend/datum.ts";
import type { ForwardOutput, Model } from "../backend/training-backend.ts";
import { microBatches } from "./micro-batches.ts";

/** Computes one output of a model for every datum, in order. The data run in micro-batches of bounded size. */
export async function forwardAll(
  data: readonly Datum[],
  options: {
    readonly model: Model;
    readonly output: ForwardOutput;
    /** 2048 by default. */
    readonly maxTokensPerMicroBatch?: number;
    readonly signal?: AbortSignal;
    /** Counts the data that are done. */
    readonly meter?: ActivityMeter;
  },
): Promise<Float32Array[]> {
  const { model, output, maxTokensPerMicroBatch = 2048, signal, meter } = options;
  meter?.expect(data.length);
  const outputs = new Array<Float32Array>(data.length);
  const lengths = data.map((datum) => datum.tokens.length);
  for (const indices of microBatches(lengths, maxTokensPerMicroBatch)) {
    const results = await model.forward(
      indices.map((index) => data[index]!),
      { outputs: [output], ...(signal === undefined ? {} : { signal }) },
    );
    meter?.add(indices.length);
    for (const [i, index] of indices.entries()) outputs[index] = results[i]![output]!;
  }
  return outputs;
}
