import type { Datum } from "../backend/datum.ts";
import type { SampleData } from "../data/sample-data.ts";
import { scaleDatum } from "../data/sample-data.ts";
import type { SequenceLoss } from "./sequence-loss.ts";

/**
 * Returns data whose policy-gradient loss, sum of -A l, has the same gradient as a sequence-level loss averaged over
 * the minibatch's samples: A = -dL/dl. Also returns the value of the loss and the means of its metrics.
 */
export function linearizeSequenceLoss(options: {
  readonly units: readonly SampleData[];
  /** Current log-probabilities: one array per datum, over all units in order. */
  readonly logprobs: readonly Float32Array[];
  readonly loss: SequenceLoss;
  /** Per unit, the factor of the loss mask. It scales the other terms, such as `kl`. */
  readonly scales: readonly number[];
}): { readonly data: Datum[]; readonly value: number; readonly metrics: Record<string, number> } {
  const { units, logprobs, loss, scales } = options;
  const data: Datum[] = [];
  const metrics: Record<string, number> = {};
  let value = 0;
  for (const [i, unit] of units.entries()) {
    const own = logprobs.slice(data.length, data.length + unit.data.length);
    const result = loss.evaluate({ ...unit, logprobs: own });
    value += result.value / units.length;
    for (const [name, part] of Object.entries(result.metrics)) {
      metrics[name] = (metrics[name] ?? 0) + part / units.length;
    }
    for (const [k, datum] of unit.data.entries()) {
      const advantages = result.derivatives[k]!.map((derivative) => -derivative / units.length);
      data.push({ ...scaleDatum(datum, scales[i]!), advantages });
    }
  }
  return { data, value, metrics };
}
