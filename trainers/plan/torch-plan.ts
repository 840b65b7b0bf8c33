import { cacheBytesPerToken } from "./cache-memory.ts";
import {
  bandwidthUtilisation,
  decodingOverhead,
  layerOverhead,
  linkUtilisation,
  peakFlops,
  samplingUtilisation,
  stepOverhead,
  trainingUtilisation,
  utilised,
} from "./cluster-rates.ts";
import { exchangeSeconds } from "./communication-time.ts";
import { decodingStepSeconds } from "./decoding-time.ts";
import type { DeviceSpec } from "./devices.ts";
import { exactly, type Interval, interval, product, quotient, ratio, sum } from "./interval.ts";
import type { MachineRates } from "./measured-machine.ts";
import type { ModelSize } from "./model-size.ts";
import { fitOf, type Plan } from "./plan.ts";
import { speedFigures } from "./speed-figures.ts";
import { decodingRows, type TorchRun, tokensOf, torchMemory, valueBytes } from "./torch-memory.ts";
import { cpuLink, cpuShares, decodingLayerSeconds, networkLink, rowSeconds } from "./torch-rates.ts";
import { blockForwardFlops, headForwardFlops, trainingFlops } from "./training-flops.ts";

/** A training with the PyTorch backend, on this machine's processor or on cards. */
export interface TorchOptions extends Omit<TorchRun, "world" | "isCard"> {
  /** The size with an adapter instead, which is proposed if full training does not fit. */
  readonly adapted: ModelSize;
  readonly processes: number;
  readonly nodes: number;
  /** The card of each process, or the measured rates of this machine, which all its processes share. */
  readonly hardware: { readonly card: DeviceSpec } | { readonly machine: MachineRates };
  readonly steps: number;
  /** The price of a card, or of a machine, for an hour. */
  readonly price?: number | undefined;
}

/** The rates of one process. */
interface ProcessRates {
  readonly training: Interval;
  readonly sampling: Interval;
  readonly bandwidth: Interval;
  readonly link: number;
  readonly stepSeconds: Interval;
  readonly decodingLayer: Interval;
  readonly trainingLayer: Interval;
  /** The seconds of a step for environments and messages. */
  readonly overhead: Interval;
}

/**
 * Estimates a training with the PyTorch backend. Each process has its rows of every batch, in sampling and in training.
 * Memory is that of one process. The rates of a card are shares of its maker's figures. Those of a processor are shares
 * of measured ones.
 */
export function planTorch(options: TorchOptions): Plan {
  const { size, workload, hardware, processes, nodes, steps, price } = options;
  const run = runOf(options);
  const memory = torchMemory(run);
  const rates = ratesOf(options);
  const sampling = samplingSeconds(run, rates);
  const training = trainingSeconds(run, rates);
  const isCard = "card" in hardware;
  // The processes of a machine share its memory, and each card has its own.
  const available = isCard ? hardware.card.memory : hardware.machine.memory / processes;
  const fits = fitOf(memory.at(-1)!, available);
  const count = processes * nodes;
  const machines = nodes === 1 ? "" : ` on ${nodes} machines`;
  const share = isCard ? "8 to 45 % of the peak" : "30 to 95 % of the measured rate (an assumption)";
  return {
    hardware: isCard
      ? `${count} x ${hardware.card.name}${machines}, PyTorch`
      : `this machine's processor, PyTorch${count === 1 ? "" : ` in ${count} processes${machines}`}`,
    basis: isCard ? "not tested" : "measured",
    parameters: size.parameters,
    trainedParameters: size.trained,
    steps,
    memory,
    speed: speedFigures({
      workload,
      training,
      step: sum(sampling, training, rates.overhead),
      steps,
      sampling: workload.samples ? ratio(workload.sampled, sampling) : exactly(0),
      price: price === undefined ? undefined : price * (isCard ? count : nodes),
      assumptions: {
        sampling: `roofline of decoding, with ${isCard ? "35 to 85 % of the bandwidth" : "shares of the measured rates (an assumption)"}, and Python for each layer`,
        training: `tokens with a loss; 6 N operations (LoRA: 4 N) per token of a sequence at ${share}`,
        step: isCard ? "sampling, training, and 1 to 30 s for environments" : "sampling and training",
        cost: `${price} an hour for each ${isCard ? "card" : "machine"}, as given`,
      },
    }),
    fit: { fits, available, changes: fits === "yes" ? [] : torchChanges(options, available) },
  };
}

function runOf(options: TorchOptions): TorchRun {
  return { ...options, world: options.processes * options.nodes, isCard: "card" in options.hardware };
}

function ratesOf({ hardware, processes, nodes, precision }: TorchOptions): ProcessRates {
  if ("card" in hardware) {
    const { card } = hardware;
    const peak = peakFlops(card, precision);
    return {
      training: utilised(peak, trainingUtilisation),
      sampling: utilised(peak, samplingUtilisation),
      bandwidth: utilised(card.bandwidth, bandwidthUtilisation),
      link: linkUtilisation * (nodes > 1 ? Math.min(card.link, networkLink) : card.link),
      stepSeconds: decodingOverhead,
      decodingLayer: decodingLayerSeconds.card,
      trainingLayer: layerOverhead,
      overhead: stepOverhead,
    };
  }
  const { flops, bandwidth } = hardware.machine;
  const own = (rate: Interval, share: Interval): Interval => product(rate, product(share, 1 / processes));
  return {
    training: own(flops, cpuShares.training),
    sampling: own(flops, cpuShares.sampling),
    bandwidth: own(bandwidth, cpuShares.bandwidth),
    link: cpuLink,
    stepSeconds: interval(1e-3, 3e-3, 10e-3),
    decodingLayer: decodingLayerSeconds.cpu,
    trainingLayer: layerOverhead,
    overhead: exactly(0),
  };
}

function samplingSeconds(run: TorchRun, rates: ProcessRates): Interval {
  const { size, workload, world, strategy } = run;
  if (!workload.samples) return exactly(0);
  const { learners, turns, prompt, completion, sequenceLength, groupSize, sequences } = workload;
  const bytes = valueBytes(run);
  const rows = decodingRows(run);
  const waves = Math.ceil(sequences / learners / world / rows) * turns * learners;
  const gathered = strategy === "fsdp" && world > 1 ? layerBytes(run) : 0;
  const exchange = exchangeSeconds({ weightBytes: gathered / 2, gradientBytes: 0, gpus: world, bandwidth: rates.link });
  const step = decodingStepSeconds(
    {
      weightBytes: (size.adapter === 0 ? 4 : bytes) * (size.blockWeights + size.headWeights) + 4 * size.adapter,
      cacheBytes: rows * cacheBytesPerToken(size, bytes) * (sequenceLength.middle - completion.middle / 2),
      flops: rows * (blockForwardFlops(size, 2 * sequenceLength.middle) + headForwardFlops(size)),
    },
    {
      bandwidth: rates.bandwidth,
      flops: rates.sampling,
      overhead: sum(rates.stepSeconds, product(rates.decodingLayer, size.layers), product(rowSeconds, rows), exchange),
    },
  );
  // Equal prompts are read once.
  const prompts = product(
    sum(product(prompt, 1 / groupSize), product(sequenceLength, Math.max(0, turns - 1) / 2)),
    sequences / world,
  );
  const reading = quotient(product(prompts, blockForwardFlops(size, prompt.middle)), rates.sampling);
  return sum(product(product(step, completion), waves), reading);
}

function trainingSeconds(run: TorchRun, rates: ProcessRates): Interval {
  const { size, workload, recompute, world, strategy } = run;
  const length = workload.sequenceLength.middle;
  const headShare = (workload.turns * workload.completion.middle) / length;
  const passes = sum(
    product(workload.passed, trainingFlops(size, { length, recompute, headShare })),
    product(workload.forwarded, blockForwardFlops(size, length) + headShare * headForwardFlops(size)),
  );
  const tokens = (workload.passed.middle + workload.forwarded.middle / 3) / world;
  const microBatches = Math.max(workload.learners, Math.ceil(tokens / tokensOf(run, length)));
  const steps = workload.optimizerSteps * (workload.learners + workload.critics);
  const sharded = strategy === "fsdp" && world > 1;
  // Whole gradients are summed once for each optimizer step, those of sharded layers in each pass.
  const summed = exchangeSeconds({
    weightBytes: 0,
    gradientBytes: 8 * size.trained,
    gpus: world,
    bandwidth: rates.link,
  });
  const shards = exchangeSeconds({
    weightBytes: sharded ? layerBytes(run) : 0,
    gradientBytes: sharded && size.adapter === 0 ? 4 * size.blockWeights : 0,
    ...{ gpus: world, bandwidth: rates.link },
  });
  return sum(
    quotient(passes, product(rates.training, world)),
    product(rates.trainingLayer, size.layers * microBatches),
    product(summed, steps),
    product(shards, microBatches),
    // AdamW reads and writes weights, gradients and moments.
    quotient(exactly(28 * size.trained * steps), rates.bandwidth),
  );
}

function layerBytes(run: TorchRun): number {
  return (run.size.adapter === 0 ? 4 : valueBytes(run)) * run.size.blockWeights;
}

/** Returns the single changes that make a training fit, and if none does, all of them together or another model. */
function torchChanges(options: TorchOptions, available: number): string[] {
  const { size, adapted, maxTokensPerMicroBatch, decodeBatchSize, hardware, processes, nodes, strategy } = options;
  const isCard = "card" in hardware;
  const fits = (changed: Partial<TorchOptions>): boolean =>
    torchMemory(runOf({ ...options, ...changed })).at(-1)!.high <= available;
  const halves = (from: number, least: number): number[] =>
    from / 2 < least ? [] : [Math.floor(from / 2), ...halves(Math.floor(from / 2), least)];
  const found: (readonly [change: Partial<TorchOptions>, text: string] | undefined)[] = [
    halves(maxTokensPerMicroBatch, 64)
      .map(
        (tokens) =>
          [
            { maxTokensPerMicroBatch: tokens },
            `smaller micro-batches: --set training.maxTokensPerMicroBatch=${tokens}`,
          ] as const,
      )
      .find(([change]) => fits(change)),
    options.recompute ? undefined : [{ recompute: true }, "recomputed activations: --set backend.recompute=true"],
    halves(decodeBatchSize, 1)
      .map(
        (rows) =>
          [{ decodeBatchSize: rows }, `fewer completions at a time: --set backend.decodeBatchSize=${rows}`] as const,
      )
      .find(([change]) => fits(change)),
    size.adapter === 0 ? [{ size: adapted }, "an adapter: --set model.adapter.type=lora"] : undefined,
    // More processes of a processor share the same memory.
    ...(isCard && (strategy === "ddp" || processes < 8)
      ? [processes * nodes > 1 ? processes : 2, 4, 8]
          .filter((count, place, all) => all.indexOf(count) === place && count >= processes)
          .map(
            (count) =>
              [
                { processes: count, strategy: "fsdp" },
                `layers divided over ${count} cards: --set backend.processes=${count} --set backend.strategy=fsdp`,
              ] as const,
          )
          .filter(([change]) => fits(change))
          .slice(0, 1)
      : []),
  ];
  const changes = found.flatMap((one) => (one !== undefined && fits(one[0]) ? [one[1]] : []));
  if (changes.length > 0) return changes;
  const all = {
    maxTokensPerMicroBatch: 64,
    recompute: true,
    decodeBatchSize: 1,
    size: size.adapter === 0 ? adapted : size,
  };
  return fits(all)
    ? ["an adapter, recomputed activations, small micro-batches and few completions at a time, together"]
    : ["a smaller model, shorter sequences, or more memory: no other change is enough"];
}
