import { type Interval, interval } from "./interval.ts";

/*
 * How the embedded engine uses a processor. The ranges were chosen on the trainings of the set `calibration` of
 * bench/plan-cases.ts, and tested on those of the set `check` (docs/planning.md).
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

/** The time of an operator of a graph, in units of the measured operator (see `MachineRates.operators`). */
export const graphOperators: Interval = interval(0.5, 1, 2.5);

/*
 * The unit for work of one thread is the measured operator, because other programs on the machine slow down both
 * equally. An operator takes about 1.6 microseconds on an idle machine.
 */

/** The operators of a logit in a decoding step: its probability, a copy of it, and the choice of a token. */
export const operatorsPerLogit: Interval = interval(0.25e-3, 0.75e-3, 2.5e-3);

/** The operators of a decoding step without its graph, and of each of its sequences. */
export const operatorsPerDecodingStep: Interval = interval(150, 600, 1500);
export const operatorsPerRow: Interval = interval(5, 20, 60);

/** The operators of an episode in the rollout loop: the environment, the template, the record. */
export const operatorsPerEpisode: Interval = interval(30, 200, 1000);

/**
 * The operators of a trained parameter in an optimizer step (AdamW, its norm), and in the gradient of a micro-batch.
 */
export const operatorsPerUpdatedParameter: Interval = interval(0.6e-3, 1.2e-3, 3e-3);
export const operatorsPerGradient: Interval = interval(0.3e-3, 0.9e-3, 2.5e-3);

/** Bytes of a process with the engine and no model: Node, ONNX Runtime and their heaps. */
export const processBytes: Interval = interval(0.2e9, 0.28e9, 0.38e9);

/**
 * The number of arrays, each of the size of the trained weights, that stay in memory after the preflight or a
 * checkpoint has copied weights and moments.
 */
export const stateCopies: Interval = interval(0.3, 2, 4);

/**
 * The maximum number of sequences that the engine decodes at a time, those of a preflight, and the maximum of logits.
 */
export const decodeBatch = 32;
export const preflightRows = 2;
export const logitsPerChunk = 16_777_216;
