import { activationBytes } from "./activation-memory.ts";
import { cacheBytesPerToken } from "./cache-memory.ts";
import { clusterChanges } from "./cluster-changes.ts";
import {
  bandwidthUtilisation,
  decodingOverhead,
  linkUtilisation,
  memoryOverhead,
  peakFlops,
  samplingUtilisation,
  slotUtilisation,
  stepOverhead,
  trainingUtilisation,
  utilised,
} from "./cluster-rates.ts";
import { exchangeSeconds } from "./communication-time.ts";
import { decodingStepSeconds } from "./decoding-time.ts";
import type { DeviceSpec } from "./devices.ts";
import { exactly, greatest, type Interval, product, quotient, ratio, sum } from "./interval.ts";
import { logitBytes } from "./logit-memory.ts";
import type { ModelSize } from "./model-size.ts";
import { type Fit, fitOf, type Plan, type PlanFigure } from "./plan.ts";
import { stateMemory } from "./state-memory.ts";
import { blockForwardFlops, headForwardFlops, trainingFlops } from "./training-flops.ts";
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
  /** The largest number of sequences that one GPU decodes at a time. */
  readonly decodeBatch: number;
  readonly steps: number;
  /** The price of one GPU for an hour, in any currency. */
  readonly price?: number | undefined;
}

/**
 * Estimates a training on one GPU, or on several with FSDP (ZeRO stage 3), with the sampler on the same GPUs. Each GPU
 * samples its share of the sequences with a whole copy of the weights.
 */
export function planCluster(options: ClusterOptions): Plan {
  const { size, workload, device, gpus, steps, price } = options;
  const memory = clusterMemory(options);
  const { sampling, decodeRate } = samplingTime(options);
  const training = trainingTime(options);
  const step = sum(sampling, training, stepOverhead);
  const hours = quotient(product(step, steps), 3600);
  const figure = (name: string, unit: PlanFigure["unit"], value: Interval, assumption: string): PlanFigure => ({
    ...{ name, unit, assumption },
    ...value,
  });
  const peak = memory.at(-1)!;
  return {
    hardware: `${gpus} x ${device.name}`,
    basis: "not tested",
    parameters: size.parameters,
    trainedParameters: size.trained,
    steps,
    memory,
    speed: [
      ...(workload.samples
        ? [
            figure(
              "sampling",
              "tokens/s",
              decodeRate,
              "roofline of decoding (Williams et al. 2009): weights and cache over 35 to 85 % of the bandwidth",
            ),
          ]
        : []),
      figure(
        "training",
        "tokens/s",
        ratio(workload.trained, training),
        "tokens with a loss; 6 N operations per token (Kaplan et al. 2020) at 8 to 45 % of the peak",
      ),
      figure("one step", "seconds", step, "sampling, training, and 1 to 30 s for environments and weight transfer"),
      figure("all steps", "hours", hours, `${steps} steps, without evaluations and checkpoints`),
      ...(price === undefined
        ? []
        : [figure("cost", "cost", product(hours, price * gpus), `${gpus} GPUs at ${price} an hour, as given`)]),
    ],
    fit: clusterFit(options, peak),
  };
}

function clusterFit(options: ClusterOptions, peak: Interval): Fit {
  const available = options.device.memory;
  const fits = fitOf(peak, available);
  return { fits, available, changes: fits === "yes" ? [] : clusterChanges(options) };
}

/** Returns the memory of one GPU: the parts, then the peak. */
export function clusterMemory(options: ClusterOptions): PlanFigure[] {
  const { size, workload, gpus, precision, recompute, microBatch } = options;
  const bytes = precision === "float32" ? 4 : 2;
  const models = workload.learners + workload.critics;
  const state = stateMemory(size, { precision, gpus, learners: models });
  const reference = workload.reference && size.adapter === 0 ? (bytes * size.parameters) / gpus : 0;
  const activations = (length: number, kind: "scores" | "flash"): number =>
    (bytes / 2) * activationBytes(size, { tokens: microBatch * length, length, recompute, attention: kind });
  const { low, middle, high } = workload.sequenceLength;
  const kept = {
    low: activations(low, "flash"),
    middle: activations(middle, "flash"),
    high: activations(high, "scores"),
  };
  const logits = atEach(workload.sequenceLength, (length, end) => logitBytes(size, microBatch * length)[end]);
  // FSDP gathers one block at a time, and the embedding.
  const gathered = gpus === 1 ? 0 : bytes * (size.headWeights + (2 * size.blockWeights) / size.layers);
  const samplerWeights = workload.samples ? bytes * size.parameters + bytes * size.adapter * workload.learners : 0;
  const cache = cacheNeed(options);
  const training = sum(exactly(state.weights + state.gradients + state.optimizer + reference + gathered), kept, logits);
  const sampling = workload.samples ? sum(exactly(samplerWeights), cache) : exactly(0);
  const apart = greatest(training, sampling);
  // At best the sampler leaves the GPU while the trainer works, and the other way round. At worst both stay.
  const together = { low: apart.low, middle: apart.middle, high: training.high + samplerWeights };
  const both = { ...together, high: Math.max(together.high, apart.high) };
  const peak = sum(product(both, memoryOverhead.fragments), memoryOverhead.fixed);
  const part = (name: string, value: Interval | number, assumption: string): PlanFigure => ({
    ...{ name, unit: "bytes", assumption },
    ...(typeof value === "number" ? exactly(value) : value),
  });
  const shard = gpus === 1 ? "" : `, an Nth on each of ${gpus} GPUs`;
  return [
    part("weights", state.weights, `${precision}${shard}`),
    part("gradients", state.gradients, `${precision}, of trained weights${shard}`),
    part("optimizer", state.optimizer, `Adam's moments and float32 weights (ZeRO, section 3.1)${shard}`),
    ...(reference === 0 ? [] : [part("reference model", reference, `frozen, ${precision}${shard}`)]),
    ...(gathered === 0
      ? []
      : [part("gathered weights", gathered, "the head and two blocks while they compute (FSDP)")]),
    part(
      "activations",
      kept,
      `${recompute ? "with" : "without"} recomputation, ${microBatch} sequences (Korthikanti et al. 2022); high: attention scores kept`,
    ),
    part("logits", logits, "1 to 14 bytes for each token of the vocabulary: chunked to plain loss"),
    ...(workload.samples
      ? [
          part("sampler's weights", samplerWeights, `${precision}, whole on each GPU`),
          part("key-value cache", cache, `${decodeRows(options)} sequences at a time, 2 x layers x key-value width`),
        ]
      : []),
    part(
      "peak",
      peak,
      "the greater of training and sampling (high: both), 8 to 25 % fragments, 0.5 to 3 GB for the driver",
    ),
  ];
}

function atEach(of: Interval, value: (at: number, end: keyof Interval) => number): Interval {
  return { low: value(of.low, "low"), middle: value(of.middle, "middle"), high: value(of.high, "high") };
}

/** The sequences that one GPU decodes at a time. */
function decodeRows({ workload, gpus, decodeBatch }: ClusterOptions): number {
  return Math.max(1, Math.min(decodeBatch, Math.ceil(workload.sequences / gpus)));
}

function cacheNeed(options: ClusterOptions): Interval {
  const bytes = cacheBytesPerToken(options.size, options.precision === "float32" ? 4 : 2);
  return product(options.workload.sequenceLength, decodeRows(options) * bytes);
}

/** Returns the seconds of sampling in a step, and the tokens per second of all GPUs. */
function samplingTime(options: ClusterOptions): { readonly sampling: Interval; readonly decodeRate: Interval } {
  const { size, workload, device, gpus, precision } = options;
  if (!workload.samples) return { sampling: exactly(0), decodeRate: exactly(0) };
  const bytes = precision === "float32" ? 4 : 2;
  const flops = utilised(peakFlops(device, precision), samplingUtilisation);
  const rows = decodeRows(options);
  const decoding = atEach(workload.sequenceLength, (length, end) => {
    const work = {
      weightBytes: bytes * (size.blockWeights + size.headWeights + size.adapter),
      // The cache grows from the prompt to the whole sequence: its mean is about half of the two.
      cacheBytes: rows * cacheBytesPerToken(size, bytes) * (length - workload.completion[end] / 2),
      flops: rows * (blockForwardFlops(size, 2 * length) + headForwardFlops(size)),
    };
    const rates = { bandwidth: utilised(device.bandwidth, bandwidthUtilisation), flops, overhead: decodingOverhead };
    return decodingStepSeconds(work, rates)[end];
  });
  const decodeRate = quotient(product(exactly(gpus * rows), slotUtilisation), decoding);
  const prompts = product(workload.prompt, workload.turns * workload.sequences * 2);
  const perToken = quotient(exactly(blockForwardFlops(size, workload.sequenceLength.middle)), product(flops, gpus));
  // At best the sequences of a group share their prompt.
  const shared = { ...prompts, low: prompts.low / workload.groupSize };
  const sampling = sum(quotient(workload.sampled, decodeRate), product(shared, perToken));
  return { sampling, decodeRate };
}

/** Returns the seconds of all passes and exchanges of a step. */
function trainingTime(options: ClusterOptions): Interval {
  const { size, workload, device, gpus, precision, recompute, microBatch } = options;
  const length = workload.sequenceLength.middle;
  const rate = product(utilised(peakFlops(device, precision), trainingUtilisation), gpus);
  const full = trainingFlops(size, { length, recompute, headShare: 1 });
  const forward = blockForwardFlops(size, length) + headForwardFlops(size);
  const passes = sum(product(workload.passed, full), product(workload.forwarded, forward));
  const bytes = precision === "float32" ? 4 : 2;
  const exchange = exchangeSeconds({
    weightBytes: bytes * size.parameters,
    gradientBytes: bytes * size.trained,
    gpus,
    bandwidth: device.link * linkUtilisation,
  });
  const sequences = workload.passed.middle / workload.sequenceLength.middle;
  const microBatches = Math.ceil(sequences / (gpus * microBatch));
  return sum(quotient(passes, rate), product(exchange, microBatches));
}
