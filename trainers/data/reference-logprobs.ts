import type { Datum } from "../backend/datum.ts";
import type { Model } from "../backend/training-backend.ts";
import { microBatches } from "./micro-batches.ts";

/** The data with the log-probabilities that a frozen model gives their targets. */
export async function withReferenceLogprobs(
  data: readonly Datum[],
  options: { readonly reference: Model; readonly maxTokensPerMicroBatch: number; readonly signal?: AbortSignal },
): Promise<Datum[]> {
  const { reference, maxTokensPerMicroBatch, signal } = options;
  const filled = [...data];
  const lengths = data.map((datum) => datum.tokens.length);
  for (const indices of microBatches(lengths, maxTokensPerMicroBatch)) {
    const results = await reference.forward(
      indices.map((index) => data[index]!),
      { outputs: ["logprobs"], ...(signal === undefined ? {} : { signal }) },
    );
    for (const [i, index] of indices.entries()) {
      filled[index] = { ...data[index]!, referenceLogprobs: results[i]!.logprobs! };
    }
  }
  return filled;
}
