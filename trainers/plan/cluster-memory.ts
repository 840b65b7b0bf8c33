import { activationBytes } from "./activation-memory.ts";
import { cacheBytesPerToken } from "./cache-memory.ts";
import { bytesOf, type ClusterOptions, samplersOf } from "./cluster-options.ts";
import { memoryOverhead } from "./cluster-rates.ts";
import { atEach, exactly, greatest, type Interval, product, sum } from "./interval.ts";
import { logitBytes } from "./logit-memory.ts";
import type { PlanFigure } from "./plan.ts";
import { stateMemory } from "./state-memory.ts";

/** Returns the memory of one GPU: the parts, then the peak. */
export function clusterMemory(options: ClusterOptions): PlanFigure[] {
  const { size, workload, gpus, precision, recompute, microBatch } = options;
  const bytes = bytesOf(precision);
  const samplers = samplersOf(options);
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
  const samplerWeights = workload.samples ? samplers.weightBytes / samplers.split : 0;
  const cache = product(workload.sequenceLength, (samplers.rows * cacheBytesPerToken(size, bytes)) / samplers.split);
  const training = sum(exactly(state.weights + state.gradients + state.optimizer + reference + gathered), kept, logits);
  const sampling = workload.samples ? sum(exactly(samplerWeights), cache) : exactly(0);
  const apart = greatest(training, sampling);
  // At best only the trainer or the sampler is in memory at a time. At worst the weights of both stay.
  const together = { low: apart.low, middle: apart.middle, high: training.high + samplerWeights };
  const both = { ...together, high: Math.max(together.high, apart.high) };
  const peak = sum(product(both, memoryOverhead.fragments), memoryOverhead.fixed);
  const part = (name: string, value: Interval | number, assumption: string): PlanFigure => ({
    name,
    unit: "bytes",
    assumption,
    ...(typeof value === "number" ? exactly(value) : value),
  });
  const shard = gpus === 1 ? "" : `, divided over ${gpus} GPUs`;
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
    part("logits", logits, "1 (loss in chunks) to 14 bytes for each token of the vocabulary"),
    ...(workload.samples
      ? [
          part(
            "sampler's weights",
            samplerWeights,
            `${precision}, ${samplers.split === 1 ? "whole on each GPU" : `split over ${samplers.split} GPUs`}`,
          ),
          part(
            "key-value cache",
            cache,
            `${samplers.rows} sequences of a sampler at a time, 2 x layers x key-value width`,
          ),
        ]
      : []),
    part(
      "peak",
      peak,
      "the greater of training and sampling (high: with the weights of both), 0 to 25 % fragments, 0.5 to 3 GB for the driver",
    ),
  ];
}
