import type { ComparedMetric } from "../compare.ts";

/** What a comparison shows about a metric of the second run. `unclear`: the difference may be chance. */
export type DifferenceVerdict = "better" | "worse" | "unclear";

/** The greatest p-value at which a difference is not chance, as for an interval of 95 %. */
const significance = 0.05;

/**
 * Returns `better` or `worse` only if the interval of the difference excludes 0 and the paired test agrees. The interval
 * alone is too narrow for a few tasks: it has no width if all of them differ by the same amount.
 */
export function differenceVerdict({ interval, test }: Pick<ComparedMetric, "interval" | "test">): DifferenceVerdict {
  if (interval === undefined || !(test.p < significance)) return "unclear";
  return interval.low > 0 ? "better" : interval.high < 0 ? "worse" : "unclear";
}
