import { LyceumError } from "../../../../src/contract/errors/index.ts";
import type { Datum } from "../../../backend/datum.ts";
import type { LossTerm } from "../../../backend/loss-term.ts";
import type {
  AdamParams,
  ForwardOutput,
  ForwardResult,
  LossResult,
  PassOptions,
  StepMetrics,
} from "../../../backend/training-backend.ts";
import type { ParameterBlock } from "../models/parameter-block.ts";
import { type AdamState, adamWStep, createAdamState } from "./adamw.ts";
import { dropoutSeeds, usesDropout } from "./dropout-masks.ts";
import { GradientSum } from "./gradient-sum.ts";
import type { LossScale, LossScaleState } from "./loss-scale.ts";
import type { SequenceRunner } from "./sequence-runner.ts";
import type { ModelWeights } from "./weights.ts";

/** A model on the engine's thread: weights, accumulated gradient and optimizer state. */
export class EngineModel {
  #weights: ModelWeights;
  #trained: ParameterBlock | undefined;
  /** The readers of the current trained block: see {@link borrow}. */
  #borrowers = new Set<symbol>();
  readonly #runner: SequenceRunner;
  readonly #lossScale: LossScale | undefined;
  readonly #dropout: { readonly rate: number; readonly seed: number } | undefined;
  /** How often each sequence was trained on with dropout since the last step. */
  #seen = new Map<string, number>();
  #gradient: GradientSum | undefined;
  #state: AdamState | undefined;
  #version = 0;
  #lastStepId: number | undefined;

  constructor(options: {
    readonly weights: ModelWeights;
    readonly trained: ParameterBlock | undefined;
    readonly runner: SequenceRunner;
    /** The runner's loss scale, if it computes in float16. */
    readonly lossScale?: LossScale | undefined;
    /** The dropout of the adapter's inputs. */
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

  /** The block that is trained. Undefined in a frozen model. Use {@link writable} to change it. */
  get trained(): ParameterBlock | undefined {
    return this.#trained;
  }

  get version(): number {
    return this.#version;
  }

  async forward(
    data: readonly Datum[],
    outputs: readonly ForwardOutput[],
    options: PassOptions,
  ): Promise<ForwardResult[]> {
    if (outputs.length === 0) return data.map(() => ({}));
    const results: ForwardResult[] = new Array(data.length);
    const pass = { weights: this.weights, data, terms: [], trains: "none", outputs } as const;
    for await (const run of this.#runner.run(pass, options)) {
      for (const [i, index] of run.indices.entries()) results[index] = run.outputs[i]!;
    }
    return results;
  }

  /**
   * Computes losses and adds the gradient to the accumulated one. The gradient is added only after all micro-batches,
   * so an aborted or failed call adds nothing.
   */
  async forwardBackward(data: readonly Datum[], terms: readonly LossTerm[], options: PassOptions): Promise<LossResult> {
    this.#requireTrained();
    const added = new GradientSum();
    const sums = new Float64Array(terms.length);
    const results: ForwardResult[] = new Array(data.length);
    let tokens = 0;
    let overflows = 0;
    const trains = this.weights.adapter === undefined ? "base" : "adapter";
    const outputs = outputsOf(terms);
    const seen = new Map(this.#seen);
    const dropout = this.#drawDropout(data, terms, seen);
    const pass = { weights: this.weights, data, terms, trains, outputs, dropout } as const;
    for await (const run of this.#runner.run(pass, options)) {
      for (const [i, index] of run.indices.entries()) results[index] = run.outputs[i]!;
      tokens += run.tokens;
      overflows += run.overflows;
      run.terms.forEach((value, i) => {
        sums[i] = sums[i]! + value;
      });
      for (const [name, gradient] of run.gradients) added.add(name, gradient);
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
   * Returns a snapshot of the weights that later steps do not change. The first step while they are lent leaves them to
   * the borrower and continues with a copy. Weights that are given back before a step need no extra memory.
   */
  borrow(): { readonly weights: ModelWeights; readonly release: () => void } {
    const borrowers = this.#borrowers;
    const borrower = Symbol("borrower");
    borrowers.add(borrower);
    return { weights: this.#weights, release: () => void borrowers.delete(borrower) };
  }

  /** Returns the trained block for writing. It has no other reader. */
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

  /** The full state for resuming. */
  get state(): OptimizerState {
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

  /** Restores a state. Drops the accumulated gradient. */
  restore(state: OptimizerState): void {
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

/** Returns the per-token outputs of a step over these terms. */
function outputsOf(terms: readonly LossTerm[]): ForwardOutput[] {
  const trainsValues = terms.some(({ type }) => type === "value");
  const trainsTokens = terms.length === 0 || terms.some(({ type }) => type !== "value");
  return [...(trainsTokens ? (["logprobs"] as const) : []), ...(trainsValues ? (["values"] as const) : [])];
}

/** The contents of a model checkpoint. */
export interface OptimizerState {
  readonly version: number;
  readonly lastStepId: number | null;
  readonly adamStep: number;
  /** Null if the model computes in float32. */
  readonly lossScale: LossScaleState | null;
  readonly parameters: Float32Array;
  readonly firstMoment: Float32Array;
  readonly secondMoment: Float32Array;
}

function notFinite(what: string): LyceumError {
  return new LyceumError({
    code: "backend.not-finite",
    message: `${what}. The weights were not changed.`,
    hint: "Lower training.learningRate or training.clipNorm, and check the rewards and demonstrations for extreme values.",
  });
}
