import { sum } from "../../../src/core/statistics.ts";
import type { Datum } from "../../backend/datum.ts";
import type { LossTerm } from "../../backend/loss-term.ts";
import type { LossResult } from "../../backend/training-backend.ts";
import { termValues, trainedTargets } from "./server-loss.ts";

/** Returns the result of a pass from the server's log-probabilities. Data that were not sent have zeros. */
export function lossResult(options: {
  readonly data: readonly Datum[];
  readonly terms: readonly LossTerm[];
  /** The indices of the data that were sent. */
  readonly trained: readonly number[];
  /** Their log-probabilities. */
  readonly found: readonly Float32Array[];
}): LossResult {
  const { data, terms, trained, found } = options;
  const logprobs = data.map(({ targets }) => new Float32Array(targets.length));
  for (const [i, index] of trained.entries()) {
    const { lossMask } = data[index]!;
    logprobs[index] = found[i]!.map((value, t) => (lossMask[t] === 0 ? 0 : value));
  }
  const values = termValues(terms, data, logprobs);
  return {
    loss: sum(values),
    terms: values,
    logprobs,
    tokens: data.reduce((sum, datum) => sum + trainedTargets(datum), 0),
    metrics: {},
  };
}
