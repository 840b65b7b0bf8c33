import type { Interval } from "./interval.ts";
import { interval } from "./interval.ts";

/** The work of one decoding step of a batch on one device. */
export interface DecodingWork {
  /** The bytes of weights, which a step reads once. */
  readonly weightBytes: number;
  /** The bytes of the cached keys and values of all sequences. */
  readonly cacheBytes: number;
  /** The floating-point operations of all sequences. */
  readonly flops: number;
}

/** The rates of a device, and the additional time of a decoding step. */
export interface DecodingRates {
  /** Bytes per second from memory. */
  readonly bandwidth: Interval;
  /** Floating-point operations per second. */
  readonly flops: Interval;
  /** The seconds of a step that are neither reading nor computing, such as launching kernels and choosing tokens. */
  readonly overhead: Interval;
}

/**
 * Returns the seconds of one decoding step. A step reads all weights and the cache, and computes. Devices overlap the
 * two, so the step takes the longer time. Source: the roofline model (Williams et al. 2009,
 * https://doi.org/10.1145/1498765.1498785), applied to decoding by Pope et al. 2022 (https://arxiv.org/abs/2211.05102),
 * section 2.
 */
export function decodingStepSeconds(work: DecodingWork, rates: DecodingRates): Interval {
  const { weightBytes, cacheBytes, flops } = work;
  // The highest rates give the lowest time.
  const seconds = (rate: "low" | "middle" | "high", overhead: "low" | "middle" | "high"): number =>
    Math.max((weightBytes + cacheBytes) / rates.bandwidth[rate], flops / rates.flops[rate]) + rates.overhead[overhead];
  return interval(seconds("high", "low"), seconds("middle", "middle"), seconds("low", "high"));
}
