import { LyceumError } from "../../../../src/contract/errors/index.ts";
import type { Datum } from "../../../backend/datum.ts";
import type { LossTerm } from "../../../backend/loss-term.ts";
import type {
  AdamParams,
  ForwardOutput,
  ForwardResult,
  LossResult,
  StepMetrics,
} from "../../../backend/training-backend.ts";
import type { ParameterBlock } from "../models/parameter-block.ts";
import { type AdamState, adamWStep, createAdamState } from "./adamw.ts";
import { dropoutSeeds, usesDropout } from "./dropout-masks.ts";
import { GradientSum } from "./gradient-sum.ts";
import type { LossScale, LossScaleState } from "./loss-scale.ts";
import type { SequenceRunner } from "./sequence-runner.ts";
import type { ModelWeights } from "./weights.ts";

/** A model as the engine's thread holds it: weights, accumulated gradient, optimizer state. */
export class EngineModel {
  #weights: ModelWeights;
  #trained: ParameterBlock | undefined;
  /** Who reads the trained block as it is: see {@link lend}. */
  #borrowers = new Set<symbol>();
  readonly #runner: SequenceRunner;
  readonly #lossScale: LossScale | undefined;
  readonly #dropout: { readonly rate: number; readonly seed: number } | undefined;
  /** How often each sequence has been learnt from, with dropout, since the last step. */
  #seen = new Map<string, number>();
  #gradient: GradientSum | undefined;
  #state: AdamState | undefined;
  #version = 0;
  #lastStepId: number | undefined;

  constructor(options: {
    readonly weights: ModelWeights;
    readonly trained: ParameterBlock | undefined;
    readonly runner: SequenceRunner;
    /** The runner's, where it computes in float16. */
    readonly lossScale?: LossScale | undefined;
    /** Of the inputs of the adapter. */
    readonly dropout?: { readonly rate: number; readonly seed: number } | undefined;
  }) {
    this.#weights = options.weights;
    this.#trained = options.trained;
    this.#runner = options.runner;
    this.#lossScale = options.lossScale;
    this.#dropout = options.dropout;
  }

  get weights(): ModelWeights {
    return this.#weights;
  }

  /** The block that is trained; none in a frozen model. It is written to through {@link writable}. */
  get trained(): ParameterBlock | undefined {
    return this.#trained;
  }

  get version(): number {
    return this.#version;
  }

  async forward(
    data: readonly Datum[],
    outputs: readonly ForwardOutput[],
    signal: AbortSignal,
  ): Promise<ForwardResult[]> {
    if (outputs.length === 0) return data.map(() => ({}));
    const results: ForwardResult[] = new Array(data.length);
    const runs = this.#runner.run({ weights: this.weights, data, terms: [], trains: "nothing", outputs });
    signal.throwIfAborted();
    for await (const run of runs) {
      for (const [i, index] of run.indices.entries()) results[index] = run.outputs[i]!;
      signal.throwIfAborted();
    }
    return results;
  }

  /** An aborted or failed call adds nothing: the gradient is added when every micro-batch is done. */
  async forwardBackward(data: readonly Datum[], terms: readonly LossTerm[], signal: AbortSignal): Promise<LossResult> {
    this.#requireTrained();
    const added = new GradientSum();
    const sums = new Float64Array(terms.length);
    const results: ForwardResult[] = new Array(data.length);
    let tokens = 0;
    let overflows = 0;
    signal.throwIfAborted();
    const trains = this.weights.adapter === undefined ? "base" : "adapter";
    const outputs = outputsOf(terms);
    const seen = new Map(this.#seen);
    const dropout = this.#drawDropout(data, terms, seen);
    for await (const run of this.#runner.run({ weights: this.weights, data, terms, trains, outputs, dropout })) {
      for (const [i, index] of run.indices.entries()) {
        results[index] = run.outputs[i]!;
        for (const weight of data[index]!.lossMask) if (weight !== 0) tokens++;
      }
      overflows += run.overflows;
      run.terms.forEach((value, i) => {
        sums[i] = sums[i]! + value;
      });
      for (const [name, gradient] of run.gradients) added.add(name, gradient);
      signal.throwIfAborted();
    }
    const loss = sums.reduce((sum, value) => sum + value, 0);
    if (!Number.isFinite(loss)) throw notFinite(`The loss is ${loss}`);
    if (this.#gradient === undefined) this.#gradient = added;
    else this.#gradient.addAll(added);
    this.#seen = seen;
    return {
      loss,
      terms: [...sums],
      logprobs: outputs.includes("logprobs") ? results.map(({ logprobs }) => logprobs!) : [],
      ...(outputs.includes("values") ? { values: results.map(({ values }) => values!) } : {}),
      tokens,
      metrics: this.#lossScale === undefined ? {} : { overflows },
    };
  }

  optimStep(params: AdamParams, stepId: number): StepMetrics {
    const { length } = this.#requireTrained().data;
    if (stepId === this.#lastStepId) return { gradientNorm: 0, version: this.#version };
    const gradient = this.#gradient ?? new GradientSum();
    const gradientNorm = gradient.norm;
    this.#clearGradient();
    if (!Number.isFinite(gradientNorm)) throw notFinite(`The gradient's norm is ${gradientNorm}`);
    const clipNorm = params.clipNorm ?? Number.POSITIVE_INFINITY;
    const scale = gradientNorm > clipNorm ? clipNorm / gradientNorm : 1;
    this.#state ??= createAdamState(length);
    const weights = this.writable();
    adamWStep({ weights, gradient: gradient.partsOf(weights), state: this.#state, params, scale });
    this.#version += 1;
    this.#lastStepId = stepId;
    return { gradientNorm, version: this.#version };
  }

  /**
   * The weights as they are now, unaffected by later steps: the first step to change them while they are lent leaves
   * them to the borrower, and goes on with a copy. What is given back before a step costs no memory.
   */
  lend(): { readonly weights: ModelWeights; readonly giveBack: () => void } {
    const borrowers = this.#borrowers;
    const borrower = Symbol("borrower");
    borrowers.add(borrower);
    return { weights: this.#weights, giveBack: () => void borrowers.delete(borrower) };
  }

  /** The trained block, to be written to: nobody else reads it. */
  writable(): ParameterBlock {
    const trained = this.#requireTrained();
    if (this.#borrowers.size === 0) return trained;
    const copy = trained.copy();
    const { adapter } = this.#weights;
    this.#weights =
      adapter === undefined
        ? { ...this.#weights, base: copy }
        : { ...this.#weights, adapter: { ...adapter, block: copy } };
    this.#trained = copy;
    this.#borrowers = new Set();
    return copy;
  }

  /** Everything that resuming needs. */
  get state(): TrainingState {
    const adam = this.#state;
    return {
      version: this.#version,
      lastStepId: this.#lastStepId ?? null,
      adamStep: adam?.step ?? 0,
      lossScale: this.#lossScale?.state ?? null,
      parameters: this.trained?.data ?? new Float32Array(0),
      firstMoment: adam?.firstMoment ?? new Float32Array(this.trained?.data.length ?? 0),
      secondMoment: adam?.secondMoment ?? new Float32Array(this.trained?.data.length ?? 0),
    };
  }

  /** Restores a state; an accumulated gradient is dropped. */
  restore(state: TrainingState): void {
    if (this.#trained !== undefined) this.writable().data.set(state.parameters);
    if (state.lossScale !== null) this.#lossScale?.restore(state.lossScale);
    this.#clearGradient();
    this.#version = state.version;
    this.#lastStepId = state.lastStepId ?? undefined;
    this.#state = {
      step: state.adamStep,
      firstMoment: state.firstMoment,
      secondMoment: state.secondMoment,
    };
  }

  /** The accumulated gradient, in the layout of the trained block. */
  get gradient(): Float32Array | undefined {
    if (this.#gradient === undefined) return undefined;
    const block = this.#requireTrained();
    const whole = block.over(new Float32Array(block.data.length));
    for (const { names, gradient } of this.#gradient.partsOf(block)) whole.stacked(names).data.set(gradient);
    return whole.data;
  }

  #clearGradient(): void {
    this.#gradient = undefined;
    this.#seen = new Map();
  }

  #drawDropout(
    data: readonly Datum[],
    terms: readonly LossTerm[],
    seen: Map<string, number>,
  ): { readonly rate: number; readonly seeds: readonly number[] } | undefined {
    if (this.#dropout === undefined || !usesDropout(terms)) return undefined;
    const { rate, seed } = this.#dropout;
    return { rate, seeds: dropoutSeeds(data, { seed, step: this.#version, seen }) };
  }

  #requireTrained(): ParameterBlock {
    if (this.trained !== undefined) return this.trained;
    throw new LyceumError({
      code: "backend.unsupported",
      message: "This model is frozen: it has no parameters to train.",
      hint: 'Open it with trainable { type: "full" } or { type: "lora", ... }.',
    });
  }
}

/** What a step over these terms tells of each token. */
function outputsOf(terms: readonly LossTerm[]): ForwardOutput[] {
  const learnsValues = terms.some(({ type }) => type === "value");
  const learnsTokens = terms.length === 0 || terms.some(({ type }) => type !== "value");
  return [...(learnsTokens ? (["logprobs"] as const) : []), ...(learnsValues ? (["values"] as const) : [])];
}

/** What a checkpoint of a model holds. */
export interface TrainingState {
  readonly version: number;
  readonly lastStepId: number | null;
  readonly adamStep: number;
  /** None in a model that computes in float32. */
  readonly lossScale: LossScaleState | null;
  readonly parameters: Float32Array;
  readonly firstMoment: Float32Array;
  readonly secondMoment: Float32Array;
}

function notFinite(what: string): LyceumError {
  return new LyceumError({
    code: "backend.not-finite",
    message: `${what}; the weights were left as they were.`,
    hint: "Lower training.learningRate or training.clipNorm, and check the rewards and demonstrations for extreme values.",
  });
}
