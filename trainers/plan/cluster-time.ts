import { cacheBytesPerToken } from "./cache-memory.ts";
import { bytesOf, type ClusterOptions, samplersOf } from "./cluster-options.ts";
import {
  bandwidthUtilisation,
  decodingOverhead,
  layerOverhead,
  linkUtilisation,
  peakFlops,
  samplingUtilisation,
  slotUtilisation,
  trainingUtilisation,
  utilised,
} from "./cluster-rates.ts";
import { exchangeSeconds } from "./communication-time.ts";
import { decodingStepSeconds } from "./decoding-time.ts";
import { atEach, exactly, type Interval, product, quotient, sum } from "./interval.ts";
import { blockForwardFlops, headForwardFlops, trainingFlops } from "./training-flops.ts";

/** Returns the seconds of sampling in a step, and the tokens per second of all GPUs. */
export function clusterSampling(options: ClusterOptions): {
  readonly sampling: Interval;
  readonly decodeRate: Interval;
} {
  const { size, workload, device, gpus, precision } = options;
  if (!workload.samples) return { sampling: exactly(0), decodeRate: exactly(0) };
  const bytes = bytesOf(precision);
  const flops = utilised(peakFlops(device, precision), samplingUtilisation);
  const { rows, split, count } = samplersOf(options);
  const decoding = atEach(workload.sequenceLength, (length, end) => {
    const work = {
      weightBytes: (bytes * (size.blockWeights + size.headWeights + size.adapter)) / split,
      // The cache grows from the prompt to the whole sequence: its mean is about half of the two.
      cacheBytes: (rows * cacheBytesPerToken(size, bytes) * (length - workload.completion[end] / 2)) / split,
      flops: (rows * (blockForwardFlops(size, 2 * length) + headForwardFlops(size))) / split,
    };
    const rates = { bandwidth: utilised(device.bandwidth, bandwidthUtilisation), flops, overhead: decodingOverhead };
    return decodingStepSeconds(work, rates)[end];
  });
  const decodeRate = quotient(product(exactly(count * rows), slotUtilisation), decoding);
  const prompts = product(workload.prompt, workload.turns * workload.sequences * 2);
  const perToken = quotient(exactly(blockForwardFlops(size, workload.sequenceLength.middle)), product(flops, gpus));
  // At best the sequences of a group share their prompt.
  const shared = { ...prompts, low: prompts.low / workload.groupSize };
  const sampling = sum(quotient(workload.sampled, decodeRate), product(shared, perToken));
  return { sampling, decodeRate };
}

/** Returns the seconds of all passes and exchanges of a step. */
export function clusterTraining(options: ClusterOptions): Interval {
  const { size, workload, device, gpus, precision, recompute, microBatch } = options;
  const length = workload.sequenceLength.middle;
  const rate = product(utilised(peakFlops(device, precision), trainingUtilisation), gpus);
  const full = trainingFlops(size, { length, recompute, headShare: 1 });
  const forward = blockForwardFlops(size, length) + headForwardFlops(size);
  const passes = sum(product(workload.passed, full), product(workload.forwarded, forward));
  const bytes = bytesOf(precision);
  const exchange = exchangeSeconds({
    weightBytes: bytes * size.parameters,
    gradientBytes: bytes * size.trained,
    gpus,
    bandwidth: device.link * linkUtilisation,
  });
  const sequences = workload.passed.middle / workload.sequenceLength.middle;
  const microBatches = Math.ceil(sequences / (gpus * microBatch));
  const launches = product(layerOverhead, size.layers * microBatches);
  return sum(quotient(passes, rate), product(exchange, microBatches), launches);
}
