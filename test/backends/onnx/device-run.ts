import fc from "fast-check";
import { datumFromIds } from "../../../trainers/backend/datum.ts";
import type { TrainableSpec } from "../../../trainers/backend/training-backend.ts";
import type { Device, Precision } from "../../../trainers/backends/onnx/index.ts";
import { createOnnxBackend } from "../../../trainers/backends/onnx/index.ts";
import { Differentiated } from "./graph/differentiate.ts";
import { operators } from "./graph/operator-cases.ts";
import { tinyConfig } from "./tiny-config.ts";

/** The result of a short training run of one model. */
export interface TrainingRun {
  readonly losses: readonly number[];
  readonly gradientNorms: readonly number[];
  /** Log-probabilities and values of the data after training. */
  readonly logprobs: readonly number[];
  readonly values: readonly number[];
  /** A greedy completion. */
  readonly ids: readonly number[];
  /** The distance between a sampled completion's log-probabilities and those of forward. */
  readonly sampledApart: number;
}

const lora: TrainableSpec = { type: "lora", lora: { rank: 4, alpha: 16, seed: 3 } };
const gpt2 = {
  model_type: "gpt2",
  vocab_size: 263,
  n_embd: 32,
  n_layer: 2,
  n_head: 4,
  n_positions: 64,
  initializer_range: 0.2,
};
const kinds: Record<string, { readonly config: object; readonly trainable: TrainableSpec }> = {
  full: { config: tinyConfig, trainable: { type: "full" } },
  lora: { config: tinyConfig, trainable: lora },
  "gpt2, full": { config: gpt2, trainable: { type: "full" } },
  "starcoder2, lora": {
    config: { ...tinyConfig, model_type: "starcoder2", sliding_window: 5 },
    trainable: lora,
  },
};

/**
 * Runs a few steps of PPO with KL, entropy and values on sequences of different lengths, then samples, for each kind of
 * model.
 */
export async function trainOn(device: Device, precision?: Precision): Promise<Record<string, TrainingRun>> {
  const sentence = [..."a tiny training run, the same on any device"].map((letter) => letter.charCodeAt(0));
  const data = [sentence.slice(0, 20), sentence.slice(5), sentence.slice(30)].map((ids) => {
    const datum = datumFromIds({ ids, mask: ids.map((_, i) => (i < 3 ? 0 : 1)), logprobs: ids.map(() => -5) });
    const advantages = datum.lossMask.map((weight, i) => weight * Math.cos(i));
    return {
      ...datum,
      advantages,
      referenceLogprobs: datum.lossMask.map((weight) => -5 * weight),
      returns: datum.lossMask.map((weight, i) => weight * Math.sin(i)),
      oldValues: datum.lossMask.map(() => 0),
      temperature: 0.9,
    };
  });
  await using backend = await createOnnxBackend({
    device,
    threads: 1,
    ...(precision === undefined ? {} : { precision }),
  });
  const runs: Record<string, TrainingRun> = {};
  for (const [kind, { config, trainable }] of Object.entries(kinds)) {
    const model = await backend.openModel({
      source: { type: "scratch", config: { ...config }, seed: 1 },
      trainable,
      valueHead: true,
    });
    const losses: number[] = [];
    const gradientNorms: number[] = [];
    for (let step = 1; step <= 4; step++) {
      const { loss } = await model.forwardBackward(data, [
        { type: "ppo", clipLow: 0.5, clipHigh: 0.5 },
        { type: "kl", estimator: "k3", weight: 0.1 },
        { type: "entropy", weight: 0.1 },
        { type: "crossEntropy", weight: 0.1 },
        { type: "cispo", clipLow: 0.5, clipHigh: 0.5, weight: 0.1 },
        { type: "value", clip: 0.5, weight: 0.1 },
      ]);
      const adam = { learningRate: 0.01, beta1: 0.9, beta2: 0.95, epsilon: 1e-4, weightDecay: 0.01, clipNorm: 10 };
      losses.push(loss);
      gradientNorms.push((await model.optimStep(adam, { stepId: step })).gradientNorm);
    }
    const results = await model.forward(data, { outputs: ["logprobs", "values"] });
    const promptIds = sentence.slice(0, 4);
    const sampler = await model.snapshot();
    const request = (temperature: number) => ({
      promptIds,
      settings: { temperature, maxTokens: 40 },
      seed: 1,
      stopTokenIds: [],
    });
    const samples = await Array.fromAsync(sampler.sample([request(0), request(1)]));
    const [greedy, drawn] = samples.toSorted((a, b) => a.request - b.request);
    const ids = [...promptIds, ...drawn!.ids];
    const [forward] = await model.forward([datumFromIds({ ids, mask: ids.map(() => 1) })], { outputs: ["logprobs"] });
    const apart = drawn!.logprobs.map((logprob, i) =>
      Math.abs(logprob - forward!.logprobs![promptIds.length - 1 + i]!),
    );
    runs[kind] = {
      losses,
      gradientNorms,
      logprobs: results.flatMap(({ logprobs }) => [...logprobs!]),
      values: results.flatMap(({ values }) => [...values!]),
      ids: greedy!.ids,
      sampledApart: Math.max(...apart),
    };
  }
  return runs;
}

/** The results of losses of very different magnitudes. */
export interface ScaledLoss {
  /** The gradient's norm divided by the loss term's weight. */
  readonly norm: number;
  readonly overflows: number;
}

/** Computes the gradient of one loss, multiplied by each of the weights in turn, on one model. */
export async function scaleLosses(options: {
  readonly device: Device;
  readonly precision: Precision;
  readonly weights: readonly number[];
}): Promise<ScaledLoss[]> {
  const { device, precision, weights } = options;
  await using backend = await createOnnxBackend({ device, precision, threads: 1 });
  const source = { type: "scratch", config: tinyConfig, seed: 1 } as const;
  const model = await backend.openModel({ source, trainable: { type: "full" } });
  const ids = [..."small numbers and large ones"].map((letter) => letter.charCodeAt(0));
  const data = [datumFromIds({ ids, mask: ids.map(() => 1) })];
  const still = { learningRate: 0, beta1: 0.9, beta2: 0.9, epsilon: 1e-8, weightDecay: 0 };
  const found: ScaledLoss[] = [];
  for (const weight of weights) {
    const { metrics } = await model.forwardBackward(data, [{ type: "crossEntropy", weight }]);
    const { gradientNorm } = await model.optimStep(still, { stepId: model.version + 1 });
    found.push({ norm: gradientNorm / weight, overflows: metrics.overflows ?? 0 });
  }
  return found;
}

/** Returns the largest difference of each operator's values and gradients between a device and the CPU. */
export async function compareOperators(device: Device): Promise<Record<string, number>> {
  const worst: Record<string, number> = {};
  for (const [name, cases] of Object.entries(operators)) {
    worst[name] = 0;
    for (const operatorCase of fc.sample(cases, { numRuns: 2, seed: 1 })) {
      await using expected = await Differentiated.build(operatorCase);
      await using actual = await Differentiated.build(operatorCase, device);
      const [here, there] = [await expected.all(), await actual.all()];
      for (const [output, values] of Object.entries(here)) {
        for (const [place, value] of values.entries()) {
          const distance = Math.abs(value - there[output]![place]!);
          if (!(distance <= worst[name])) worst[name] = distance;
        }
      }
    }
  }
  return worst;
}
