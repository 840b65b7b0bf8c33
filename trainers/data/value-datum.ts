import type { Datum } from "../backend/datum.ts";
import type { StateTargets } from "./training-sample.ts";

/**
 * Creates a datum for value terms. The loss mask is 1 after the ids whose value is predicted. The model reads every id.
 * The last target is a filler.
 */
export function valueDatum({ ids, targets }: StateTargets): Datum {
  const lossMask = new Float32Array(ids.length);
  const returns = new Float32Array(ids.length);
  const oldValues = new Float32Array(ids.length);
  for (const { after, value, old } of targets) {
    lossMask[after] = 1;
    returns[after] = value;
    oldValues[after] = old;
  }
  return { tokens: Int32Array.from(ids), targets: Int32Array.from([...ids.slice(1), 0]), lossMask, returns, oldValues };
}
