import type { Interval } from "./interval.ts";
import { interval } from "./interval.ts";

/**
 * Returns the seconds by which FSDP's exchange of weights and gradients lengthens one micro-batch. At best it
 * runs entirely during computation and adds no time. In the middle, half of it adds time. At worst, all of it does.
 *
 * Source: Rajbhandari et al. 2020, "ZeRO" (https://arxiv.org/abs/1910.02054), section 7.2.2: stage 3 moves three times
 * the parameters, in two all-gathers of the weights and one reduce-scatter of the gradients. Frozen weights have no
 * gradient.
 */
export function exchangeSeconds(options: {
  readonly weightBytes: number;
  readonly gradientBytes: number;
  readonly gpus: number;
  /** Bytes per second that one device sends to the others. */
  readonly bandwidth: number;
}): Interval {
  const { weightBytes, gradientBytes, gpus, bandwidth } = options;
  const seconds = ((2 * weightBytes + gradientBytes) * (gpus - 1)) / gpus / bandwidth;
  return interval(0, seconds / 2, seconds);
}
