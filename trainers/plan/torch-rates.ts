import { type Interval, interval } from "./interval.ts";

/*
 * How the PyTorch worker uses memory and a device. Memory was compared with the peaks of trainings on a CPU
 * (docs/planning.md). The shares of rates are assumptions.
 */

/** Bytes of a process on a CPU with Python, PyTorch, transformers and peft, without a model. */
export const workerBytes: Interval = interval(0.45e9, 0.65e9, 0.8e9);

/** The most logits that exist at a time, and the most tokens of prompts that are read at a time. */
export const logitsPerChunk = 2 ** 26;
export const prefillTokens = 8192;

/** Numbers for each logit of a chunk: the logits, divided by the temperature, probabilities, gradients of each. */
export const numbersPerLogit: Interval = interval(2, 4, 7);

/** Bytes for each logit of a decoding step: logits, probabilities, their sums in float64. */
export const bytesPerSampledLogit: Interval = interval(16, 28, 48);

/** The cache has room for the longest sequence. It grows by doubling, and is copied when it grows. */
export const cacheRoom: Interval = interval(1, 1.6, 3.2);

/** Activations that the formula does not count, and free blocks of the allocator. */
export const activationFactor: Interval = interval(0.7, 1, 1.5);

/** The shares of measured rates of the CPU that PyTorch reaches. Assumptions. */
export const cpuShares = {
  training: interval(0.3, 0.6, 0.95),
  sampling: interval(0.2, 0.5, 0.9),
  bandwidth: interval(0.3, 0.6, 0.95),
} as const;

/** Seconds of a layer in a decoding step besides reading and computing: Python and launches. Assumptions. */
export const decodingLayerSeconds = {
  cpu: interval(0.15e-3, 0.4e-3, 2e-3),
  card: interval(0.1e-3, 0.3e-3, 1e-3),
} as const;

/** Seconds of a row in a decoding step: its choice and the message about it. An assumption. */
export const rowSeconds: Interval = interval(10e-6, 40e-6, 200e-6);

/** Bytes per second of a card between machines, and of a process on a CPU. Assumptions. */
export const networkLink = 25e9;
export const cpuLink = 2e9;
