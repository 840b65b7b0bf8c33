import type { SampleRequest } from "../../../../src/contract/sampler.ts";
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
import type { Precision } from "../graph/graph.ts";
import type { LocalSource } from "./base-store.ts";
import type { Device } from "./session.ts";
import type { TokenizerSource } from "./tokenizer-source.ts";

/** How an engine runs; fixed for its life. */
export interface EngineSettings {
  readonly device: Device;
  /** Which of several devices of that kind, from 0; the first by default. */
  readonly deviceIndex?: number;
  readonly threads?: number;
  /** The most tokens, padding included, of one training run of the runtime. */
  readonly maxTokensPerMicroBatch: number;
  /** What products are computed in when models are trained and evaluated, float32 by default; sampling is always that. */
  readonly precision?: Precision;
  /** The most sequences decoded at a time. */
  readonly decodeBatchSize: number;
}

/** What {@link EngineCalls.open} tells of a model. */
export interface OpenedModel {
  readonly model: number;
  readonly isAdapter: boolean;
  readonly parameterCount: number;
  readonly maxLength: number;
  readonly vocabularySize: number;
}

/** A trained parameter by its checkpoint name (or adapter name), for inspection. */
export interface NamedArray {
  readonly name: string;
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

/**
 * What the engine's thread can be asked, one call after another. Every call takes one argument and gives one result,
 * both cloneable.
 */
export interface EngineCalls {
  open(argument: {
    readonly source: LocalSource;
    readonly tokenizer?: TokenizerSource;
    readonly trainable: TrainableSpec;
    readonly valueHead?: boolean;
  }): Promise<OpenedModel>;
  forward(
    argument: { readonly model: number; readonly data: readonly Datum[]; readonly outputs: readonly ForwardOutput[] },
    context: CallContext,
  ): Promise<ForwardResult[]>;
  forwardBackward(
    argument: { readonly model: number; readonly data: readonly Datum[]; readonly terms: readonly LossTerm[] },
    context: CallContext,
  ): Promise<LossResult>;
  optimStep(argument: {
    readonly model: number;
    readonly params: AdamParams;
    readonly stepId: number;
  }): Promise<StepMetrics>;
  snapshot(argument: { readonly model: number }): Promise<{ readonly sampler: number; readonly version: number }>;
  /** Emits each sample as an item, and now and then the number of tokens sampled so far. */
  sample(
    argument: { readonly sampler: number; readonly requests: readonly SampleRequest[] },
    context: CallContext,
  ): Promise<void>;
  save(argument: { readonly model: number; readonly folder: string }): Promise<void>;
  load(argument: { readonly model: number; readonly folder: string }): Promise<{ readonly version: number }>;
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

/** What a call gets beside its argument. */
export interface CallContext {
  readonly signal: AbortSignal;
  /** Sends something to the caller before the result. */
  emit(item: unknown): void;
}
