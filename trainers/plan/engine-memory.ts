import { defaultKeptBytes, samplersOfMemory } from "../backends/onnx/engine/kept-memory.ts";
import { hasRoomForDecodingCopy, largeBase } from "../backends/onnx/models/parameter-memory.ts";
import { sharedActivationBytes } from "../model-folders/architecture/split-pass.ts";
import { cacheBytesPerToken } from "./cache-memory.ts";
import { decodeBatch, logitsPerChunk, preflightRows, processBytes, stateCopies } from "./engine-rates.ts";
import { exactly, greatest, type Interval, interval, product, sum } from "./interval.ts";
import type { ModelSize } from "./model-size.ts";
import type { PlanFigure } from "./plan.ts";
import { plannedSplit } from "./planned-split.ts";
import type { SampledWork, Workload } from "./workload.ts";

/** All numbers of the embedded engine are float32. */
const bytes = 4;

/** How the embedded engine runs a training. */
export interface EngineRun {
  readonly size: ModelSize;
  readonly workload: Workload;
  /** `training.maxTokensPerMicroBatch`. */
  readonly maxTokensPerMicroBatch: number;
  /** The bytes of the base under an adapter, if it is quantized. Default: four for each parameter. */
  readonly quantizedBytes?: number | undefined;
  /** The bytes of the machine's memory. Default: those of this machine. */
  readonly memory?: number | undefined;
}

/**
 * Estimates the memory of a training on the embedded engine: the parts, then the peak. The parts are the engine's
 * allocations: the weights, three more arrays of the size of the trained weights, copies of an adapter's base for
 * training and decoding, and the values that a training graph keeps for its backward pass.
 */
export function engineMemory(run: EngineRun): PlanFigure[] {
  const { size, workload } = run;
  const { learners, critics } = workload;
  const full = size.adapter === 0;
  const bases = full ? learners + critics + (workload.reference ? 1 : 0) : 1;
  const trained = size.trained * (learners + critics);
  const quantized = full ? undefined : run.quantizedBytes;
  const base = quantized ?? bytes * size.parameters;
  const weights = base * bases + bytes * size.adapter * (learners + critics);
  const { sequences } = microBatchAt(run, "middle");
  const microBatches = workload.passed.middle > sequences * workload.sequenceLength.middle;
  // When a micro-batch ends, there are its gradient in the runtime, a copy of it, and the sum of earlier gradients.
  const gradients = product(interval(1, microBatches ? 2 : 1.5, microBatches ? 3 : 2), bytes * trained);
  const moments = 2 * bytes * trained;
  const copies = product(stateCopies, bytes * trained);
  const block = full ? 0 : (bytes * size.blockWeights) / size.layers;
  // The head of a quantized base is one float32 matrix while the loss is computed.
  const merged = quantized === undefined ? block : block + bytes * size.headWeights;
  const layouts = layoutBytes(run);
  const sampled = [workload, ...(workload.evaluation === undefined ? [] : [workload.evaluation])];
  const batch = greatest(...sampled.map((work) => batchBytes(size, work)));
  const decoding = sum(layouts, batch, greatest(...sampled.map((work) => keptPrefixBytes(size, work))));
  // Training releases a large base's layout for decoding.
  const kept = base > largeBase ? batch : sum(layouts, batch);
  const activations = product(engineActivations(run), interval(0.9, 1.15, 1.6));
  const logits = logitBytes(run);
  const training = sum(activations, logits, exactly(merged), gradients);
  const peak = sum(
    processBytes,
    exactly(weights + moments),
    copies,
    greatest(sum(training, { ...kept, low: 0 }), decoding),
  );
  const part = (name: string, value: Interval | number, assumption: string): PlanFigure => ({
    name,
    unit: "bytes",
    assumption,
    ...(typeof value === "number" ? exactly(value) : value),
  });
  return [
    part("process", processBytes, "Node and ONNX Runtime without a model"),
    part(
      "weights",
      weights,
      full
        ? "float32"
        : `the base once${quantized === undefined ? "" : ", quantized"}, and an adapter for each learner in float32`,
    ),
    part("gradients", gradients, "the sum, and two copies for the current micro-batch"),
    part("optimizer", moments, "Adam's two moments in float32"),
    part("copied state", copies, "copies of weights and moments, from the preflight and checkpoints"),
    ...(full
      ? []
      : [
          part(
            "merged weights",
            merged,
            quantized === undefined
              ? "one block of the base with the adapter added"
              : "one block of the base in float32, and the head",
          ),
        ]),
    part("activations", activations, "the values of a micro-batch that the backward pass needs"),
    part("logits", logits, "up to 16.8 million logits at a time, with probabilities and gradient"),
    part(
      "decoding",
      decoding,
      "weights in the layout for decoding, keys, values and logits, and the keys and values that are kept for later prompts",
    ),
    part("peak", peak, "the largest sum of parts that exist at the same time"),
  ];
}

/** Returns the bytes of the values that a training graph keeps for its backward pass, for the largest micro-batch. */
function engineActivations(run: EngineRun): Interval {
  const [low, middle, high] = (["low", "middle", "high"] as const).map((end) => microBatchAt(run, end).bytes) as [
    number,
    number,
    number,
  ];
  return { low, middle: Math.max(low, middle), high: Math.max(low, middle, high) };
}

/** The largest micro-batch of a run. */
interface LargestMicroBatch {
  readonly sequences: number;
  /** The bytes that are kept for the backward pass. */
  readonly bytes: number;
  /** The tokens of all micro-batches, of which shared prompts count once, per token of a sequence. */
  readonly distinct: number;
}

/** Returns the largest micro-batch of a run whose lengths are at one end of their intervals. */
export function microBatchAt(
  { size, workload, maxTokensPerMicroBatch, quantizedBytes, memory }: EngineRun,
  end: keyof Interval,
): LargestMicroBatch {
  const weightBytes = (size.adapter === 0 ? undefined : quantizedBytes) ?? bytes * size.parameters;
  const trainedBytes = bytes * size.trained;
  const length = workload.sequenceLength[end];
  const { batches } = plannedSplit(size, {
    sequences: Math.ceil(workload.sequences / workload.learners),
    groupSize: workload.groupSize,
    length,
    prompt: workload.prompt[end],
    maxTokens: maxTokensPerMicroBatch,
    sharedBytes: sharedActivationBytes({ weightBytes, trainedBytes }, memory),
  });
  const [sequences, tokens] = [
    batches.reduce((count, { indices }) => count + indices.length, 0),
    batches.reduce((count, { tokens }) => count + tokens, 0),
  ];
  return {
    sequences: batches.reduce((most, { indices }) => Math.max(most, indices.length), 0),
    bytes: batches.reduce((most, { bytes }) => Math.max(most, bytes), 0),
    distinct: tokens / (sequences * length),
  };
}

function logitBytes(run: EngineRun): Interval {
  const { size, workload } = run;
  const of = (end: keyof Interval): number => {
    const positions = microBatchAt(run, end).sequences * workload.turns * workload.completion[end];
    return bytes * Math.min(logitsPerChunk, positions * size.vocabularySize);
  };
  const middle = of("middle");
  return interval(Math.min(of("low"), middle), 3 * middle, 4 * Math.max(middle, of("high")));
}

/** Returns the memory of the base in the layouts for decoding. */
function layoutBytes({ size, quantizedBytes, memory }: EngineRun): Interval {
  const copy = quantizedBytes ?? bytes * (size.blockWeights + size.headWeights);
  // The decoding graph for few rows contains an adapter's base as constants, and again in the runtime's layout. In full
  // training the weights change, and the graph reads them in place, as it does if there is no room for the copy.
  const hasCopy =
    size.adapter > 0 && (quantizedBytes !== undefined || hasRoomForDecodingCopy(bytes * size.parameters, memory));
  return hasCopy ? interval(0, 1.3 * copy, 2.2 * copy) : exactly(0);
}

/** Returns the memory of keys, values and logits of a decoding batch. */
function batchBytes(size: ModelSize, { samples, sequences, learners, sequenceLength }: SampledWork): Interval {
  // If the model does not sample in training, the preflight still decodes a few completions.
  const rows = samples ? Math.min(decodeBatch, sequences / learners) : preflightRows;
  const cache = product(sequenceLength, rows * cacheBytesPerToken(size, bytes));
  const logits = 2 * rows * size.vocabularySize * bytes;
  return sum(product(cache, interval(0.6, 1.2, 2.2)), exactly(logits));
}

/** Returns the memory of what samplers keep for later prompts, until they are closed before the training. */
function keptPrefixBytes(size: ModelSize, work: SampledWork): Interval {
  const { samples, sequences, learners, prompt, completion, turns, sequenceLength } = work;
  if (!samples) return exactly(0);
  // Nobody continues the completions of last turns. High: episodes end before them.
  const { middle } = sum(product(prompt, turns), product(completion, turns - 1));
  const all = product({ ...sequenceLength, middle }, sequences * cacheBytesPerToken(size, bytes));
  const most = Math.min(learners, samplersOfMemory) * defaultKeptBytes();
  // The sequences of a group share their prompts.
  return interval(0, Math.min(most, all.middle), Math.min(most, all.high));
}
