import { type Interval, interval } from "./interval.ts";
import type { ModelSize } from "./model-size.ts";

/**
 * Returns the bytes of logits of a micro-batch on a GPU, for tokens x vocabulary values.
 *
 * Low: the loss is computed in chunks, and an eighth of the logits exists at a time (Hsu et al. 2024, "Liger Kernel",
 * https://arxiv.org/abs/2410.10989, describes such a loss). Middle: 16-bit logits, a float32 copy for the softmax, and a
 * 16-bit gradient (8 bytes). High: a float32 gradient and one more float32 copy (14 bytes).
 */
export function logitBytes({ vocabularySize }: Pick<ModelSize, "vocabularySize">, tokens: number): Interval {
  const logits = tokens * vocabularySize;
  return interval(logits, 8 * logits, 14 * logits);
}
