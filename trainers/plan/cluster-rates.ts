import type { DeviceSpec } from "./devices.ts";
import { exactly, type Interval, interval, product } from "./interval.ts";

/**
 * The share of a GPU's peak that training reaches (model FLOPs utilisation, Chowdhery et al. 2022,
 * https://arxiv.org/abs/2204.02311, appendix B). Pretraining reports 0.46 (PaLM, same paper) and 0.38 to 0.43 (Llama 3 on
 * H100, https://arxiv.org/abs/2407.21783, table 4). Reinforcement learning trains on short sequences in small batches, so
 * that the middle is assumed to be half of that, and the low end a fifth.
 */
export const trainingUtilisation: Interval = interval(0.08, 0.22, 0.45);

/**
 * The share of a GPU's memory bandwidth that decoding reaches. An assumption: kernels that read weights reach 0.8 or
 * more, and attention over paged caches and short reads lower it.
 */
export const bandwidthUtilisation: Interval = interval(0.35, 0.6, 0.85);

/** The share of the peak that the products of decoding and prefill reach. An assumption. */
export const samplingUtilisation: Interval = interval(0.15, 0.35, 0.6);

/** Seconds of a decoding step besides reading and computing: kernel launches, scheduling, choosing tokens. */
export const decodingOverhead: Interval = interval(0.001, 0.004, 0.015);

/**
 * Seconds of a layer in a micro-batch of training besides computing: the launches of some hundred kernels, forward and
 * backward. An assumption. It matters only for small models.
 */
export const layerOverhead: Interval = interval(0.3e-3, 1e-3, 5e-3);

/**
 * The share of sampling slots that work on average. Completions end at different times, and a batch waits for its
 * longest one.
 */
export const slotUtilisation: Interval = interval(0.4, 0.7, 1);

/** The share of a link's bandwidth that exchanges between GPUs reach. An assumption. */
export const linkUtilisation = 0.7;

/** Seconds of a step besides sampling and training: environments, rewards, and moving weights to the sampler. */
export const stepOverhead: Interval = interval(1, 6, 30);

/** `fixed`: the bytes of driver and libraries on a GPU. `fragments`: the allocator's factor on all other memory. */
export const memoryOverhead = { fixed: interval(0.5e9, 1e9, 3e9), fragments: interval(1, 1.08, 1.25) } as const;

/** Returns the peak rate of matrix products in a precision. */
export function peakFlops(spec: DeviceSpec, precision: "bfloat16" | "float16" | "float32"): number {
  return precision === "float32" ? spec.singleFlops : spec.halfFlops;
}

/** Returns the rate that a share of a peak is. */
export function utilised(peak: number, share: Interval): Interval {
  return product(exactly(peak), share);
}
