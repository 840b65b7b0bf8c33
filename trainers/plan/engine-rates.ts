import { type Interval, interval } from "./interval.ts";

/*
 * How the embedded engine uses a processor. The ranges were chosen on the trainings of the set `calibration` of
 * bench/plan-cases.ts; those of the set `check` show how far they hold (docs/planning.md).
 */

/** The share of the rate of square products that the products of a training step reach. */
export const trainingEfficiency: Interval = interval(0.5, 0.72, 0.9);

/** The share of the rate of square products that prefill and decoding reach. */
export const samplingEfficiency: Interval = interval(0.35, 0.65, 0.95);

/** The share of the reading rate at which decoding reads weights and caches. */
export const readingEfficiency: Interval = interval(0.35, 0.6, 0.9);

/** How often the kept activations are written and read in a training step. */
export const activationPasses: Interval = interval(1, 2.5, 5);

/** The operators of one block in a training graph, forward and backward, and in a decoding graph. */
export const trainingOperatorsPerLayer = 176;
export const decodingOperatorsPerLayer = 40;

/** Seconds of a decoding step for each logit: its probability, the copy of it, and the choice of a token. */
export const secondsPerLogit: Interval = interval(0.4e-9, 1.2e-9, 4e-9);

/** Seconds of a decoding step besides the graph, and for each row. */
export const secondsPerDecodingStep: Interval = interval(0.2e-3, 0.7e-3, 2e-3);
export const secondsPerRow: Interval = interval(5e-6, 20e-6, 60e-6);

/** Seconds of the rollout loop for each episode: the environment, the template, the record. */
export const secondsPerEpisode: Interval = interval(0.05e-3, 0.3e-3, 1.5e-3);

/** Seconds for each trained parameter of an optimizer step (AdamW, its norm), and of each micro-batch (its gradient). */
export const secondsPerUpdatedParameter: Interval = interval(1e-9, 2e-9, 5e-9);
export const secondsPerGradient: Interval = interval(0.5e-9, 1.5e-9, 4e-9);

/** Bytes of a process with the engine and no model: Node, ONNX Runtime and their heaps. */
export const processBytes: Interval = interval(0.2e9, 0.28e9, 0.38e9);

/**
 * Arrays of the size of what is trained that are left in memory after the preflight or a checkpoint has copied weights
 * and moments.
 */
export const stateCopies: Interval = interval(0.3, 2, 4);

/** The most sequences that the engine decodes at a time, and the most logits that it keeps at a time. */
export const decodeBatch = 32;
export const logitsPerChunk = 33_554_432;
