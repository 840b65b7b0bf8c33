import { encodeSupport, type TokenSupport } from "../../../src/contract/token-support.ts";
import { createRandom } from "../../../src/core/random/random.ts";
import { type Datum, datumFromIds } from "../../../trainers/backend/datum.ts";
import type { LossTerm } from "../../../trainers/backend/loss-term.ts";
import type { ForwardOutput, LoraSpec } from "../../../trainers/backend/training-backend.ts";
import type { LossScale } from "../../../trainers/backends/onnx/engine/loss-scale.ts";
import { PositionTables } from "../../../trainers/backends/onnx/engine/position-tables.ts";
import { SequenceRunner } from "../../../trainers/backends/onnx/engine/sequence-runner.ts";
import { SessionCache } from "../../../trainers/backends/onnx/engine/session-cache.ts";
import type { ModelWeights } from "../../../trainers/backends/onnx/engine/weights.ts";
import { ParameterBlock } from "../../../trainers/backends/onnx/models/parameter-block.ts";
import { valueHeadParameters } from "../../../trainers/backends/onnx/models/value-head.ts";
import { readDecoderConfig } from "../../../trainers/model-folders/architecture/decoder-config.ts";
import { loraParameters } from "../../../trainers/model-folders/architecture/lora-layers.ts";
import { decoderParameters } from "../../../trainers/model-folders/architecture/parameters.ts";

/** The result of a pass over data, combined from its micro-batches. */
export interface PassResult {
  readonly terms: readonly number[];
  readonly logprobs: readonly Float32Array[];
  readonly entropy: readonly (Float32Array | undefined)[];
  readonly values: readonly (Float32Array | undefined)[];
  /** In the layout of the trained block. */
  readonly gradient: ParameterBlock;
  readonly overflows: number;
}

/** A model with random weights and a value head that runs on this thread. Its weights can be changed. */
export class ModelUnderTest implements AsyncDisposable {
  readonly weights: ModelWeights;
  /** The parameters with a gradient: the adapter's if there is one. */
  readonly trained: ParameterBlock;
  readonly #sessions: SessionCache = new SessionCache({ device: "cpu", threads: 1 });
  readonly #tables: PositionTables;
  readonly #lossScale: LossScale | undefined;

  /** Products are in float16 if there is a loss scale. */
  constructor(
    source: Readonly<Record<string, unknown>>,
    lora?: LoraSpec & { readonly rank: number; readonly alpha: number },
    lossScale?: LossScale,
  ) {
    const config = readDecoderConfig(source);
    const head = valueHeadParameters(config);
    const whole = [...decoderParameters(config), ...(lora === undefined ? head : [])];
    const base = randomBlock(new ParameterBlock(whole), config.initializerRange);
    this.weights = { config, base };
    if (lora !== undefined) {
      const block = randomBlock(new ParameterBlock([...loraParameters(config, lora), ...head]), 0.3);
      this.weights = { ...this.weights, adapter: { block, scale: lora.alpha / lora.rank } };
    }
    this.trained = this.weights.adapter?.block ?? base;
    this.#tables = new PositionTables(config);
    this.#lossScale = lossScale;
  }

  /** Runs one pass. Without terms it only evaluates. */
  async pass(
    data: readonly Datum[],
    terms: readonly LossTerm[],
    options: {
      readonly maxTokens?: number;
      readonly logitsPerChunk?: number;
      readonly outputs?: readonly ForwardOutput[];
      readonly dropout?: { readonly rate: number; readonly seeds: readonly number[] };
    } = {},
  ): Promise<PassResult> {
    const { maxTokens = 1000, logitsPerChunk, outputs = ["logprobs"], dropout } = options;
    const runner = new SequenceRunner({
      sessions: this.#sessions,
      tables: this.#tables,
      maxTokensPerMicroBatch: maxTokens,
      lossScale: this.#lossScale,
      ...(logitsPerChunk === undefined ? {} : { logitsPerChunk }),
    });
    const gradient = this.trained.over(new Float32Array(this.trained.data.length));
    const result = {
      terms: terms.map(() => 0),
      logprobs: new Array<Float32Array>(data.length),
      entropy: new Array<Float32Array | undefined>(data.length),
      values: new Array<Float32Array | undefined>(data.length),
      gradient,
      overflows: 0,
    };
    const trains = terms.length === 0 ? "none" : this.weights.adapter === undefined ? "base" : "adapter";
    for await (const run of runner.run({ weights: this.weights, data, terms, trains, outputs, dropout })) {
      run.indices.forEach((index, i) => {
        const { logprobs, entropy, values } = run.outputs[i]!;
        if (logprobs !== undefined) result.logprobs[index] = logprobs;
        result.entropy[index] = entropy;
        result.values[index] = values;
      });
      result.overflows += run.overflows;
      run.terms.forEach((value, i) => {
        result.terms[i]! += value;
      });
      for (const [name, values] of run.gradients) {
        const { data: sum } = gradient.stacked(name.split("+"));
        for (let i = 0; i < sum.length; i++) sum[i]! += values[i]!;
      }
    }
    return result;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#sessions[Symbol.asyncDispose]();
  }
}

/** Fills a block: norms around 1, everything else around 0. */
function randomBlock(block: ParameterBlock, deviation: number): ParameterBlock {
  const random = createRandom(7);
  for (const { name, initial } of block.specs) {
    const values = block.view(name);
    const center = initial === "ones" ? 1 : 0;
    for (let i = 0; i < values.length; i++) values[i] = center + deviation * random.normal();
  }
  return block;
}

/** Sequences of these lengths with masks of 0, 1 and fractions, several temperatures, and advantages of both signs. */
export function randomData(lengths: readonly number[], options: { vocabulary: number; seed: number }): Datum[] {
  const random = createRandom(options.seed);
  return lengths.map((length, i) => {
    const ids = Array.from({ length: length + 1 }, () => random.integer(0, options.vocabulary - 1));
    const datum = datumFromIds({
      ids,
      mask: ids.map(() => random.pick([0, 1, 1, 0.5])),
      temperature: [1, 0.7, 1.3][i % 3]!,
    });
    return { ...datum, advantages: Float32Array.from(datum.lossMask, (weight) => weight * random.normal()) };
  });
}

/**
 * The data with a support for each target. About a third of the supports are the whole vocabulary. The others are the
 * target and random other tokens, down to the target alone, as ids or as a bitmap.
 */
export function withSupports(data: readonly Datum[], options: { vocabulary: number; seed: number }): Datum[] {
  const random = createRandom(options.seed);
  const support = (target: number): TokenSupport => {
    const share = random.pick([0, 0.1, 0.5, 0.95]);
    const kept = Array.from({ length: options.vocabulary }, (_, id) => id).filter(
      (id) => id === target || random.next() < share,
    );
    return random.pick([null, kept, encodeSupport(kept, options.vocabulary)]);
  };
  return data.map((datum) => ({ ...datum, supports: Array.from(datum.targets, support) }));
}

/**
 * The data with log-probabilities of a behaviour and a reference policy, with returns and old values. Their distances
 * from the current ones are known and not near the edge of a clipping range of about 0.2.
 */
export async function withOtherPolicies(model: ModelUnderTest, data: readonly Datum[]): Promise<Datum[]> {
  const pass = await model.pass(data, [], { outputs: ["logprobs", "values"] });
  const { logprobs } = pass;
  const values = pass.values.map((each) => each!);
  const random = createRandom(3);
  const shifted = (datum: number, offsets: readonly number[]): Float32Array =>
    logprobs[datum]!.map((logprob) => logprob + random.pick(offsets));
  return data.map((datum, i) => ({
    ...datum,
    behaviourLogprobs: shifted(i, [-0.5, -0.05, 0.05, 0.5]),
    referenceLogprobs: shifted(i, [-1, -0.2, 0.3, 0.8]),
    // Within a range of 0.2 and beyond it, with returns on both sides of the value.
    oldValues: values[i]!.map((value) => value + random.pick([-0.5, -0.05, 0.05, 0.5])),
    returns: values[i]!.map((value) => value + random.pick([-1, -0.3, 0.3, 1])),
  }));
}
