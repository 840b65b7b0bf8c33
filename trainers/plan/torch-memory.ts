import { cacheBytesPerToken } from "./cache-memory.ts";
import { memoryOverhead } from "./cluster-rates.ts";
import { atEach, exactly, greatest, type Interval, interval, product, sum } from "./interval.ts";
import type { ModelSize } from "./model-size.ts";
import type { PlanFigure } from "./plan.ts";
import {
  activationFactor,
  bytesPerSampledLogit,
  cacheRoom,
  logitsPerChunk,
  numbersPerLogit,
  prefillTokens,
  workerBytes,
} from "./torch-rates.ts";
import type { Workload } from "./workload.ts";

/** How the PyTorch backend runs a training: the keys of `backend`, with their defaults. */
export interface TorchRun {
  readonly size: ModelSize;
  readonly workload: Workload;
  readonly precision: "bfloat16" | "float16" | "float32";
  readonly recompute: boolean;
  /** Of all processes together. */
  readonly maxTokensPerMicroBatch: number;
  readonly decodeBatchSize: number;
  /** The processes of all machines. */
  readonly world: number;
  readonly strategy: "ddp" | "fsdp";
  readonly isCard: boolean;
}

/** Returns the bytes of frozen weights and of the values of a pass. */
export function valueBytes({ precision }: Pick<TorchRun, "precision">): number {
  return precision === "float32" ? 4 : 2;
}

/** Returns the most completions that a process decodes at a time. */
export function decodingRows({ workload, world, decodeBatchSize }: TorchRun): number {
  return workload.samples ? Math.min(decodeBatchSize, Math.ceil(workload.sequences / workload.learners / world)) : 2;
}

/**
 * Estimates the memory of one process: the parts, then the peak. Trained weights, their gradients and moments are
 * float32 in each precision. With `fsdp`, a process has its part of the layers, and whole embeddings, head and adapters.
 */
export function torchMemory(run: TorchRun): PlanFigure[] {
  const { size, workload, precision, world, strategy, isCard } = run;
  const full = size.adapter === 0;
  const models = workload.learners + workload.critics;
  const sharded = strategy === "fsdp" && world > 1;
  const held = size.parameters - size.blockWeights + size.blockWeights / (sharded ? world : 1);
  const trained = models * (full ? held : size.adapter);
  const frozen = full ? (workload.reference ? held : 0) : held;
  const weights = 4 * trained + valueBytes(run) * frozen;
  const gradients = product(interval(1, 1, 2), 4 * trained);
  const earlier = product(workload.samples ? interval(0, 1, 1) : exactly(0), 4 * trained);
  // Autocast keeps the trained weights that it has cast until the pass ends.
  const cast = full && precision !== "float32" ? 2 * size.blockWeights : 0;
  const gathered = sharded ? ((full ? 4 : valueBytes(run)) * 2 * size.blockWeights) / size.layers : 0;
  const activations = product(torchActivations(run), activationFactor);
  const logits = logitBytes(run);
  const sampling = samplingBytes(run);
  const fixed = isCard ? memoryOverhead.fixed : workerBytes;
  const state = sum(exactly(weights + 8 * trained + gathered), gradients, earlier);
  // The allocator of a CPU gives large blocks back, and that of a card keeps them for other sizes.
  const fragments = isCard ? memoryOverhead.fragments : interval(1, 1.05, 1.2);
  const used = sum(state, greatest(sum(activations, logits, exactly(cast)), sampling));
  const shard = sharded ? `; layers divided over ${world} processes` : "";
  const part = (name: string, value: Interval | number, assumption: string): PlanFigure => ({
    ...{ name, unit: "bytes", assumption },
    ...(typeof value === "number" ? exactly(value) : value),
  });
  return [
    part("process", fixed, isCard ? "driver and libraries" : "Python, PyTorch and transformers without a model"),
    part("weights", weights, `${full ? "float32" : `the base in ${precision}, adapters in float32`}${shard}`),
    part("gradients", gradients, `float32, of trained weights, and earlier ones that a pass adds to${shard}`),
    part("optimizer", 8 * trained, `Adam's two moments in float32${shard}`),
    ...(workload.samples
      ? [part("sampler's weights", earlier, "a copy of trained weights, if a sampler is open at a step")]
      : []),
    ...(gathered === 0 ? [] : [part("gathered weights", gathered, "two layers while they compute (fsdp)")]),
    ...(cast === 0 ? [] : [part("cast weights", cast, `${precision} copies during a pass`)]),
    part(
      "activations",
      activations,
      `${run.recompute ? "with" : "without"} recomputation, up to ${run.maxTokensPerMicroBatch} tokens`,
    ),
    part("logits", logits, "up to 67 million at a time in float32, with gradients (2 to 7 numbers each)"),
    part(
      "sampling",
      sampling,
      `keys and values of ${decodingRows(run)} completions, prompts, probabilities${mergedBytes(run) > 0 ? ", and layers with the adapter merged" : ""}`,
    ),
    part(
      "peak",
      sum(fixed, product(used, fragments)),
      `of one process${world > 1 ? ` of ${world}` : ""}: the state, with the greater of training and sampling`,
    ),
  ];
}

/** Returns the bytes of the values that a pass keeps for its backward pass, for the largest micro-batch of a process. */
function torchActivations(run: TorchRun): Interval {
  const { size, workload, recompute } = run;
  const { hiddenSize, queryWidth, keyValueWidth, unitWidth, heads, layers, gated } = size;
  const bytes = atEach(workload.sequenceLength, (length, end) => {
    const norms = 6 * hiddenSize;
    // The output of attention, its inputs, and keys and values repeated for each head.
    const attention = hiddenSize + 5 * queryWidth + 2 * keyValueWidth;
    const unit = hiddenSize + (gated ? 4 : 2) * unitWidth;
    // Fused attention keeps no scores. The high end is for kernels that do.
    const scores = end === "high" ? 2 * heads * length : heads;
    // Norms and the residual stream are float32, and products are in the precision.
    const layer = 4 * norms + valueBytes(run) * (attention + unit + scores);
    const tokens = tokensOf(run, length);
    return tokens * (recompute ? 4 * hiddenSize * layers + layer : layers * layer);
  });
  return ordered(bytes);
}

/** Returns the tokens of a process in the largest micro-batch. A longer sequence is a micro-batch of its own. */
export function tokensOf({ workload, maxTokensPerMicroBatch, world }: TorchRun, length: number): number {
  const sequences = Math.ceil(workload.sequences / workload.learners / world);
  return length * Math.max(1, Math.min(sequences, Math.floor(maxTokensPerMicroBatch / world / length)));
}

function logitBytes(run: TorchRun): Interval {
  const { size, workload } = run;
  const chunk = atEach(workload.sequenceLength, (length, end) => {
    const positions = (tokensOf(run, length) * workload.turns * workload.completion[end]) / length;
    return 4 * Math.min(logitsPerChunk, positions * size.vocabularySize);
  });
  return product(ordered(chunk), numbersPerLogit);
}

/** Returns the bytes of the frozen layers with the adapter added, by which a CPU samples (MERGED_ROWS in sampling.py). */
function mergedBytes(run: TorchRun): number {
  const { size, precision, isCard, strategy, world } = run;
  const merges = !isCard && size.adapter > 0 && precision === "float32" && !(strategy === "fsdp" && world > 1);
  return merges && decodingRows(run) >= 8 ? 4 * size.blockWeights : 0;
}

/** Returns the bytes of sampling besides weights: the cache, the prompts that are read at a time, and probabilities. */
function samplingBytes(run: TorchRun): Interval {
  const { size, workload } = run;
  const { hiddenSize, queryWidth, keyValueWidth, unitWidth, vocabularySize } = size;
  const rows = decodingRows(run);
  const cache = product(workload.sequenceLength, rows * cacheBytesPerToken(size, valueBytes(run)));
  const prompts = atEach(workload.prompt, (length) => Math.min(prefillTokens, rows * length));
  const values = 4 * hiddenSize + 2 * queryWidth + 2 * keyValueWidth + 3 * unitWidth;
  return sum(
    exactly(mergedBytes(run)),
    product(cache, cacheRoom),
    product(prompts, 4 * values),
    product(bytesPerSampledLogit, rows * vocabularySize),
  );
}

function ordered({ low, middle, high }: Interval): Interval {
  return interval(Math.min(low, middle, high), middle, Math.max(low, middle, high));
}
