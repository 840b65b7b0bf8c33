import type { DeviceSpec } from "./devices.ts";
import type { ModelSize } from "./model-size.ts";
import type { Workload } from "./workload.ts";

/** How a training runs on GPUs. */
export interface ClusterOptions {
  readonly size: ModelSize;
  /** The size with an adapter instead, which is proposed if full training does not fit. */
  readonly adapted: ModelSize;
  readonly workload: Workload;
  readonly device: DeviceSpec;
  readonly gpus: number;
  readonly precision: "bfloat16" | "float16" | "float32";
  /** True if activations are computed again in the backward pass instead of being kept. */
  readonly recompute: boolean;
  /** The sequences of one micro-batch on one GPU. */
  readonly microBatch: number;
  /** The largest number of sequences that one sampler decodes at a time. */
  readonly decodeBatch: number;
  readonly steps: number;
  /** The price of one GPU for an hour, in any currency. */
  readonly price?: number | undefined;
}

/** The share of a GPU's memory that a sampler's weights may fill. The rest is for the cache. */
const weightShare = 0.6;

/** Returns the bytes of a number in a precision. */
export function bytesOf(precision: ClusterOptions["precision"]): number {
  return precision === "float32" ? 4 : 2;
}

/** The samplers of a training. Each has a whole model on `split` GPUs. */
export interface Samplers {
  readonly split: number;
  readonly count: number;
  /** The bytes of one sampler's weights, on all its GPUs. */
  readonly weightBytes: number;
  /** The sequences that one sampler decodes at a time. */
  readonly rows: number;
}

/**
 * Returns the samplers on the GPUs: as many as possible, so that the weights of each leave room for its cache. A larger
 * model is split over 2, 4, 8, ... GPUs (tensor parallelism).
 */
export function samplersOf({ size, workload, device, gpus, precision, decodeBatch }: ClusterOptions): Samplers {
  const weightBytes = bytesOf(precision) * (size.parameters + size.adapter * workload.learners);
  let split = 1;
  while (2 * split <= gpus && weightBytes / split > weightShare * device.memory) split *= 2;
  const count = Math.max(1, Math.floor(gpus / split));
  const rows = Math.max(1, Math.min(decodeBatch, Math.ceil(workload.sequences / count)));
  return { split, count, weightBytes, rows };
}
