import type { SampleRequest, ScoreRequest, TokenScores } from "../../../../src/contract/sampler.ts";
import type { Datum } from "../../../backend/datum.ts";
import type { LossTerm } from "../../../backend/loss-term.ts";
import type {
  AdamParams,
  ExportDtype,
  ExportFormat,
  ForwardOutput,
  ForwardResult,
  LossResult,
  StepMetrics,
  TrainableSpec,
} from "../../../backend/training-backend.ts";
import type { Bits } from "../../../model-folders/architecture/quantized-parameters.ts";
import type { LocalSource } from "../../shared/open-source.ts";
import type { TokenizerSource } from "../../shared/tokenizer-source.ts";
import type { Precision } from "../graph/graph.ts";
import type { Device } from "./session.ts";

/** The settings of an engine. They do not change. */
export interface EngineSettings {
  readonly device: Device;
  /** The device index, from 0. Default: the first device. */
  readonly deviceIndex?: number;
  readonly threads?: number;
  /** The maximum number of tokens, padding included, in one training run of the runtime. */
  readonly maxTokensPerMicroBatch: number;
  /** The precision of matrix products in training and evaluation. Default: float32. Sampling always uses float32. */
  readonly precision?: Precision;
  /** The maximum number of sequences that are decoded at a time. */
  readonly decodeBatchSize: number;
  /** The bits of frozen weights. Default: they are float32. */
  readonly quantize?: Bits | undefined;
  /** True if samplers round the inputs of products by quantized weights to 8 bits. Default: false. */
  readonly roundInputs?: boolean | undefined;
  /** The memory in bytes of what one sampler keeps for later prompts. Default: a sixteenth of the machine's memory. */
  readonly keptBytes?: number;
}

/** The description of a model that {@link EngineCalls.open} returns. */
export interface OpenedModel {
  readonly model: number;
  readonly isAdapter: boolean;
  readonly parameterCount: number;
  readonly maxLength: number;
  readonly vocabularySize: number;
}

/** A trained parameter with its checkpoint name or adapter name, for inspection. */
export interface NamedArray {
  readonly name: string;
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

/** The data of one pass over a model. */
interface EnginePass {
  readonly model: number;
  readonly data: readonly Datum[];
  readonly maxTokensPerMicroBatch?: number;
}

/**
 * The calls that the engine's thread accepts, one after another. Only shared calls of `sample` on one sampler may run at
 * the same time. Every call takes one argument and returns one result. Both can be cloned.
 */
export interface EngineCalls {
  open(argument: {
    readonly source: LocalSource;
    readonly tokenizer?: TokenizerSource;
    readonly trainable: TrainableSpec;
    readonly valueHead?: boolean;
  }): Promise<OpenedModel>;
  /** Emits the progress after each micro-batch, as {@link EngineCalls.forwardBackward} does. */
  forward(
    argument: EnginePass & { readonly outputs: readonly ForwardOutput[] },
    context: CallContext,
  ): Promise<ForwardResult[]>;
  forwardBackward(
    argument: EnginePass & { readonly terms: readonly LossTerm[] },
    context: CallContext,
  ): Promise<LossResult>;
  optimStep(argument: {
    readonly model: number;
    readonly params: AdamParams;
    readonly stepId: number;
  }): Promise<StepMetrics>;
  snapshot(argument: { readonly model: number }): Promise<{ readonly sampler: number; readonly version: number }>;
  /**
   * Emits each sample as an item, and periodically the number of tokens sampled so far. With `reportTokens`, also emits
   * the tokens of each decoding step, as a list. Calls with `shared` join the batch of those that run. They, and calls
   * with `reuse`, continue what such calls of the sampler have read before.
   */
  sample(
    argument: {
      readonly sampler: number;
      readonly requests: readonly SampleRequest[];
      readonly reportTokens?: boolean;
      readonly shared?: boolean | undefined;
      readonly reuse?: boolean | undefined;
    },
    context: CallContext,
  ): Promise<void>;
  score(
    argument: { readonly sampler: number; readonly request: ScoreRequest },
    context: CallContext,
  ): Promise<TokenScores>;
  save(argument: { readonly model: number; readonly folder: string }): Promise<void>;
  load(argument: {
    readonly model: number;
    readonly folder: string;
    readonly optimizer: boolean;
  }): Promise<{ readonly version: number }>;
  export(argument: {
    readonly model: number;
    readonly folder: string;
    readonly format: ExportFormat;
    readonly dtype?: ExportDtype;
  }): Promise<void>;
  closeModel(argument: { readonly model: number }): Promise<void>;
  closeSampler(argument: { readonly sampler: number }): Promise<void>;
  readLogits(argument: { readonly model: number; readonly ids: readonly number[] }): Promise<Float32Array>;
  readGradients(argument: { readonly model: number }): Promise<NamedArray[]>;
  setParameters(argument: { readonly model: number; readonly parameters: readonly NamedArray[] }): Promise<void>;
  close(argument: Record<never, never>): Promise<void>;
}

/** The context of a call, in addition to its argument. */
export interface CallContext {
  readonly signal: AbortSignal;
  /** The indices of the requests of a call of `sample` that must stop. Grows during the call. */
  readonly dropped?: ReadonlySet<number>;
  /** Sends an item to the caller before the result. */
  emit(item: unknown): void;
  /** Undefined if more items can be sent. Else resolves when the caller has received enough of the earlier ones. */
  readonly room?: () => Promise<void> | undefined;
}
