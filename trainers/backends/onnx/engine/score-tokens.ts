import type { ScoreRequest, TokenScores } from "../../../../src/contract/sampler.ts";
import { greatest } from "../../../../src/core/policy/greatest.ts";

/** Computes the logits after tokens of one sequence. */
interface LogitSource {
  readonly vocabularySize: number;
  /** Returns the logits after the tokens at these places: (rows, vocabulary). */
  logitsAfter(rows: Int32Array): Promise<Float32Array>;
  /** The maximum number of logits of one call. 256 MB by default. */
  readonly maxLogits?: number;
}

/**
 * Computes the logprobs of the last ids of a sequence, and the most likely ids at their places. Reads the sequence again
 * for each part of the logits that fits in memory.
 */
export async function scoreTokens(
  { vocabularySize, logitsAfter, maxLogits = 2 ** 26 }: LogitSource,
  { ids, last = ids.length - 1, topK = 0, targets = [] }: ScoreRequest,
  signal: AbortSignal,
): Promise<TokenScores> {
  const logprobs = new Float32Array(last);
  const topIds = new Int32Array(last * topK);
  const topLogprobs = new Float32Array(last * topK);
  const targetLogprobs: Float32Array[] = [];
  const rowsPerRun = Math.max(1, Math.floor(maxLogits / vocabularySize));
  const first = ids.length - last;
  for (let start = 0; start < last; start += rowsPerRun) {
    signal.throwIfAborted();
    // The logits of an id are those after the id before it.
    const rows = Int32Array.from({ length: Math.min(rowsPerRun, last - start) }, (_, i) => first + start + i - 1);
    const logits = await logitsAfter(rows);
    for (const [i, row] of rows.entries()) {
      const values = logits.subarray(i * vocabularySize, (i + 1) * vocabularySize);
      const normalizer = logSumExp(values);
      const place = start + i;
      logprobs[place] = values[ids[row + 1]!]! - normalizer;
      targetLogprobs.push(Float32Array.from(targets[place] ?? [], (id) => values[id]! - normalizer));
      for (const [k, id] of greatest(values, topK).entries()) {
        topIds[place * topK + k] = id;
        topLogprobs[place * topK + k] = values[id]! - normalizer;
      }
    }
  }
  return { logprobs, topIds, topLogprobs, targetLogprobs };
}

function logSumExp(values: Float32Array): number {
  let peak = -Infinity;
  for (const value of values) if (value > peak) peak = value;
  let sum = 0;
  for (const value of values) sum += Math.exp(value - peak);
  return peak + Math.log(sum);
}
