import type { ActivationSizes } from "../model-folders/architecture/kept-activations.ts";
import { type PassSplit, splitPass } from "../model-folders/architecture/split-pass.ts";

/** The sequences that are split at most. More of them would not change the largest micro-batch. */
const mostSequences = 4096;

/**
 * Splits sequences of equal length into the micro-batches of the embedded engine. The sequences of a group have the same
 * prompt.
 */
export function plannedSplit(
  sizes: ActivationSizes,
  planned: {
    readonly sequences: number;
    readonly groupSize: number;
    readonly length: number;
    readonly prompt: number;
    readonly maxTokens: number;
    readonly sharedBytes?: number | undefined;
  },
): PassSplit {
  const { groupSize, length, prompt, maxTokens, sharedBytes } = planned;
  const sequences = Math.min(planned.sequences, mostSequences);
  const order = Array.from({ length: sequences }, (_, i) => i);
  const shared = order.map((i) => (i % groupSize === 0 ? 0 : prompt));
  return splitPass(
    order.map(() => length),
    { sizes, maxTokens, sharedBytes, prefixes: groupSize === 1 ? undefined : { order, shared } },
  );
}
