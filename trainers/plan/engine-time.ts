import { blockTokens } from "../backends/onnx/engine/kept-prefixes.ts";
import { cacheBytesPerToken } from "./cache-memory.ts";
import { decodingStepSeconds } from "./decoding-time.ts";
import { type EngineRun, microBatchAt } from "./engine-memory.ts";
import {
  activationPasses,
  decodeBatch,
  decodingOperatorsPerLayer,
  graphOperators,
  operatorsPerDecodingStep,
  operatorsPerEpisode,
  operatorsPerGradient,
  operatorsPerLogit,
  operatorsPerRow,
  operatorsPerUpdatedParameter,
  readingEfficiency,
  samplingEfficiency,
  trainingEfficiency,
  trainingOperatorsPerLayer,
} from "./engine-rates.ts";
import { exactly, type Interval, product, quotient, sum } from "./interval.ts";
import type { MachineRates } from "./measured-machine.ts";
import type { ModelSize } from "./model-size.ts";
import { blockForwardFlops, headForwardFlops, trainingFlops } from "./training-flops.ts";
import type { SampledWork } from "./workload.ts";

/** The seconds of one training step on the embedded engine, and of one evaluation. */
export interface EngineTime {
  readonly sampling: Interval;
  readonly training: Interval;
  /** The seconds of one evaluation. Undefined if the run has none. */
  readonly evaluation: Interval | undefined;
}

/** Estimates the seconds of sampling and of training in one step, after the first step, which compiles graphs. */
export function engineTime(run: EngineRun, rates: MachineRates): EngineTime {
  const { size, workload } = run;
  const { evaluation } = workload;
  return {
    sampling: samplingSeconds(size, workload, rates),
    training: trainingSeconds(run, rates),
    evaluation: evaluation && samplingSeconds(size, evaluation, rates),
  };
}

function samplingSeconds(size: ModelSize, work: SampledWork, rates: MachineRates): Interval {
  const { sequences, learners, turns, prompt, completion, sequenceLength, groupSize } = work;
  const episodes = quotient(product(operatorsPerEpisode, sequences), rates.operators);
  if (!work.samples) return episodes;
  const each = sequences / learners;
  const rows = Math.min(decodeBatch, each);
  const waves = Math.ceil(each / decodeBatch) * turns * learners;
  const flops = product(rates.flops, samplingEfficiency);
  const operators = sum(
    product(graphOperators, decodingOperatorsPerLayer * size.layers),
    product(operatorsPerLogit, rows * size.vocabularySize),
    product(operatorsPerRow, rows),
    operatorsPerDecodingStep,
  );
  const overhead = quotient(operators, rates.operators);
  const step = decodingStepSeconds(
    {
      weightBytes: 4 * (size.blockWeights + size.headWeights + size.adapter),
      // The cache grows during decoding. The prompt of a group is read once.
      cacheBytes: cacheBytesPerToken(size, 4) * (rows * (completion.middle / 2) + (rows / groupSize) * prompt.middle),
      flops: rows * (blockForwardFlops(size, 2 * sequenceLength.middle) + headForwardFlops(size)),
    },
    { bandwidth: product(rates.bandwidth, readingEfficiency), flops, overhead },
  );
  // The prompts of a group are read once in the first turn. Each later turn reads what is new, and the rest of a block
  // that is not whole. Without memory for what was read before, it reads its conversation again.
  const laterTurns = sequences * Math.max(0, turns - 1);
  const fresh = product(sum(prompt, exactly(blockTokens / 2)), laterTurns);
  const first = product(prompt, sequences / groupSize);
  const later = { ...fresh, high: Math.max(fresh.high, (sequenceLength.high * laterTurns) / 2) };
  const perToken = quotient(exactly(blockForwardFlops(size, prompt.middle)), flops);
  return sum(product(product(step, completion), waves), product(sum(first, later), perToken), episodes);
}

function trainingSeconds(run: EngineRun, rates: MachineRates): Interval {
  const { size, workload } = run;
  const { sequenceLength, completion, turns } = workload;
  const length = sequenceLength.middle;
  const headShare = (turns * completion.middle) / length;
  const flops = product(rates.flops, trainingEfficiency);
  const microBatch = microBatchAt(run, "middle");
  // A prompt that sequences share passes through the blocks once. High: prompts that differ.
  const distinct = { low: microBatch.distinct, middle: microBatch.distinct, high: 1 };
  const blocks = trainingFlops(size, { length, recompute: false, headShare: 0 });
  const head = trainingFlops(size, { length, recompute: false, headShare }) - blocks;
  const passes = sum(
    product(product(workload.passed, distinct), blocks),
    product(workload.passed, head),
    product(product(workload.forwarded, distinct), blockForwardFlops(size, length)),
    product(workload.forwarded, headShare * headForwardFlops(size)),
  );
  const passed = workload.passed.middle + workload.forwarded.middle / 3;
  const microBatches = Math.max(workload.learners, Math.ceil(passed / length / microBatch.sequences));
  const values =
    4 * size.hiddenSize + 3 * size.queryWidth + 2 * size.keyValueWidth + 4 * size.unitWidth + size.heads * length;
  const moved = product(product(activationPasses, 4 * size.layers * values), product(workload.passed, distinct));
  const steps = workload.optimizerSteps * (workload.learners + workload.critics);
  const operators = sum(
    product(graphOperators, trainingOperatorsPerLayer * size.layers * microBatches),
    product(operatorsPerGradient, size.trained * microBatches),
    product(operatorsPerUpdatedParameter, size.trained * steps),
  );
  return sum(quotient(passes, flops), quotient(moved, rates.bandwidth), quotient(operators, rates.operators));
}
