import type { RunStartEvent } from "../../src/contract/training-event.ts";
import { formatNumber } from "../../src/core/text/format-numbers.ts";

/** Returns the learning rate of a run, and whether it is a default. Returns nothing for a run of an earlier version. */
export function learningRateText({ learningRate }: Pick<RunStartEvent, "learningRate">): string[] {
  if (learningRate === undefined) return [];
  const { value, defaultOf } = learningRate;
  const text = `learning rate ${formatNumber(value)}`;
  return [defaultOf === undefined ? text : `${text} (the default of ${defaultOf})`];
}
