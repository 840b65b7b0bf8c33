import type { Json } from "../../src/contract/json.ts";
import type { Sampler } from "../../src/contract/sampler.ts";
import type { Machine } from "../../src/contract/training-event.ts";
import type { Renderer } from "../../src/core/tokens/renderer.ts";
import type { Tokenizer } from "../../src/core/tokens/tokenizer.ts";
import type { Datum } from "./datum.ts";
import type { LossTerm } from "./loss-term.ts";

/** The capabilities of a backend. They are checked before a run starts. */
export interface Capabilities {
  readonly name: string;
  /** The device it runs on, such as `cpu` or `webgpu`. */
  readonly device?: string;
  /** What computes, as runs record it. Absent if it is unknown. */
  readonly machine?: Machine;
  /** The precision of matrix products, in training or in sampling if that is lower. float32 if absent. */
  readonly precision?: "float32" | "float16" | "bfloat16";
  /** The loss terms that it supports in its training step. */
  readonly losses: readonly LossTerm["type"][];
  /**
   * The sampling settings that it can also train on. It then computes log-probabilities of the processed distribution.
   */
  readonly trainableSampling: readonly ("temperature" | "topK" | "topP" | "minP")[];
  readonly adapters: boolean;
  readonly fullParameter: boolean;
  /** True if models can be opened with {@link ModelSpec.valueHead}. */
  readonly valueHead: boolean;
  /** True if samplers of models with a value head return the values of states: `Sample.values`. */
  readonly sampledValues?: boolean;
  /** False if the backend leaves the size of micro-batches to a server. True by default. */
  readonly microBatches?: boolean;
  /** True if two identical runs give identical weights. */
  readonly deterministic: boolean;
  /** The formats that {@link Model.export} can write. */
  readonly exportFormats: readonly ExportFormat[];
}

/** `huggingface`: a Hugging Face folder (safetensors, config, tokenizer). `peft`: a PEFT adapter folder. */
export type ExportFormat = "huggingface" | "peft";

/** The data type of the weights in a Hugging Face folder. */
export type ExportDtype = "float32" | "float16" | "bfloat16";

/** The variables of a chat template, by name. */
export type TemplateVariables = Readonly<Record<string, Json>>;

/** The source of a model's weights. */
export type ModelSource =
  /**
   * A Hugging Face folder or a PEFT adapter folder on this machine, or the hub id (`owner/name`) of either. An adapter
   * is opened together with its base model. `base` (a folder or hub id) replaces the base model that the adapter's
   * config names.
   *
   * `chatTemplate` replaces the model's own template. It is a Jinja file, or `"none"` for a base model, whose prompt is
   * the plain text of the messages, one after another. `templateVariables` are extra variables of the template, such as
   * `enable_thinking`, in addition to messages, tools and special tokens.
   */
  | {
      readonly type: "pretrained";
      readonly path: string;
      readonly revision?: string;
      readonly base?: string;
      readonly chatTemplate?: string;
      readonly templateVariables?: TemplateVariables;
    }
  /** Random weights of a given shape. `config` has the keys of a Hugging Face `config.json`. */
  | { readonly type: "scratch"; readonly config: Readonly<Record<string, unknown>>; readonly seed: number };

/** Low-rank adapters on the linear layers (Hu et al. 2021, https://arxiv.org/abs/2106.09685). */
export interface LoraSpec {
  /** 16 by default. */
  readonly rank?: number;
  /** The adapter's output is scaled by alpha / rank. 32 by default. */
  readonly alpha?: number;
  /**
   * The linear layers that get an adapter, named as in peft: the last part of a layer's name, such as `q_proj`,
   * `c_attn` or `c_proj`, or a longer end of it, such as `mlp.c_proj`. If absent, every linear layer of the blocks.
   */
  readonly targets?: readonly string[];
  /**
   * The share of each adapter's inputs that is dropped. The others are scaled by 1 / (1 - dropout). Dropout applies
   * only in {@link Model.forwardBackward} if all terms are `crossEntropy`. The log-probabilities of such a pass include
   * dropout. It never applies in sampling, in {@link Model.forward} or with other terms, because these compare
   * log-probabilities of several passes. Each sequence of each step has its own masks. 0 by default.
   */
  readonly dropout?: number;
  /** Seeds the random matrix of each adapter, and dropout. */
  readonly seed?: number;
}

/**
 * The parameters that a model trains. `frozen` trains none, for a reference or a partner. `full` trains every weight.
 * An adapter of the source is merged first.
 */
export type TrainableSpec =
  | { readonly type: "full" }
  | {
      readonly type: "lora";
      readonly lora: LoraSpec;
      /**
       * What happens to an adapter of the source. `continue` (default) trains it further. Its rank, alpha and targets
       * are its own; other values in `lora` are `config.invalid`. `merge` adds it to the base model and trains a new
       * adapter.
       */
      readonly start?: "continue" | "merge";
    }
  | { readonly type: "frozen" };

/** A model to open. Models with equal sources share one copy of the frozen weights. */
export interface ModelSpec {
  readonly source: ModelSource;
  readonly trainable: TrainableSpec;
  /**
   * Adds a value head: V, one scalar per token, is a linear layer over the final hidden state. It starts at 0. All its
   * weights are trained, also if the policy trains an adapter. A frozen model cannot have one. `value` terms and the
   * output `values` read it.
   */
  readonly valueHead?: boolean;
}

/** Runs and trains models. Closing it closes its models. */
export interface TrainingBackend extends AsyncDisposable {
  readonly specificationVersion: "v1";
  readonly capabilities: Capabilities;
  openModel(spec: ModelSpec, options?: { readonly signal?: AbortSignal }): Promise<Model>;
  close(): Promise<void>;
}

/** An output of {@link Model.forward}. */
export type ForwardOutput = "logprobs" | "entropy" | "values";

/** The outputs of one datum. Each array is as long as the datum's tokens, with 0 where the loss mask is 0. */
export interface ForwardResult {
  readonly logprobs?: Float32Array;
  readonly entropy?: Float32Array;
  /** V_t, the value of the state in which `targets[t]` is sampled. */
  readonly values?: Float32Array;
}

/** The result of {@link Model.forwardBackward}. */
export interface LossResult {
  /** The sum of all terms over all tokens. */
  readonly loss: number;
  /** The sum of each term, in the order of the terms. */
  readonly terms: readonly number[];
  /**
   * Current log-probabilities per datum, as in {@link ForwardResult}. Empty if all terms are `value` terms. The output
   * head is not computed then.
   */
  readonly logprobs: readonly Float32Array[];
  /** Current values per datum, as in {@link ForwardResult}, if there is a `value` term. */
  readonly values?: readonly Float32Array[];
  /** The number of tokens whose loss mask is not 0. */
  readonly tokens: number;
  /** Sums over these tokens for metrics, such as `clipped` (the number of tokens whose ratio was clipped). */
  readonly metrics: Readonly<Record<string, number>>;
}

/**
 * The parameters of AdamW with decoupled weight decay (Loshchilov and Hutter 2017, https://arxiv.org/abs/1711.05101).
 * Biases and the weights of norms are not decayed.
 */
export interface AdamParams {
  readonly learningRate: number;
  readonly beta1: number;
  readonly beta2: number;
  readonly epsilon: number;
  readonly weightDecay: number;
  /**
   * The largest global L2 norm of the gradient. A larger gradient is scaled down to it. No clipping if absent or
   * Infinity.
   */
  readonly clipNorm?: number;
}

/** The metrics of one optimizer step. */
export interface StepMetrics {
  /** Global L2 norm of the gradient before clipping. */
  readonly gradientNorm: number;
  /** The version of the weights after the step. */
  readonly version: number;
}

/** The options of one pass over data. */
export interface PassOptions {
  /** Checked between micro-batches. */
  readonly signal?: AbortSignal;
  /**
   * The maximum number of tokens of a micro-batch, padding included, if it is smaller than the backend's own maximum. A
   * longer sequence has a micro-batch of its own. Memory grows with it. Results do not depend on it, except by
   * rounding.
   */
  readonly maxTokensPerMicroBatch?: number;
  /** Called after each micro-batch. */
  readonly onProgress?: (done: PassProgress) => void;
}

/** The size of a finished micro-batch. */
export interface PassProgress {
  readonly sequences: number;
  /** The number of tokens whose loss mask is not 0. */
  readonly tokens: number;
}

/** A set of weights that can be run, trained, sampled from and saved. */
export interface Model {
  readonly spec: ModelSpec;
  readonly tokenizer: Tokenizer;
  readonly renderer: Renderer;
  /**
   * True for an adapter on a base model, also a frozen one. `peft` exports the adapter, `huggingface` the merged model.
   */
  readonly isAdapter: boolean;
  /** The number of trainable values. */
  readonly parameterCount: number;
  /** The version of the weights. Each optimizer step adds 1. */
  readonly version: number;
  /** The largest number of tokens of one sequence. */
  readonly maxLength: number;
  /** False if no sampler of earlier weights may sample after a step or during one. True by default. */
  readonly samplesEarlierWeights?: boolean;
  /**
   * Computes outputs of each datum, in order. The model splits the data into micro-batches: see {@link PassOptions}.
   */
  forward(
    data: readonly Datum[],
    options: PassOptions & { readonly outputs: readonly ForwardOutput[] },
  ): Promise<ForwardResult[]>;
  /**
   * Adds the gradient of the sum of all terms over all tokens to the accumulated gradient. Pass all data of an
   * optimizer step: the model splits them into micro-batches. A call that is aborted or fails adds nothing.
   */
  forwardBackward(data: readonly Datum[], terms: readonly LossTerm[], options?: PassOptions): Promise<LossResult>;
  /**
   * Applies the accumulated gradient and clears it. A `stepId` that was already applied is not applied again, so that a
   * retry is harmless. Throws `backend.not-finite` if the gradient is not finite. The weights are then unchanged.
   */
  optimStep(params: AdamParams, options: { readonly stepId: number }): Promise<StepMetrics>;
  /**
   * Does one `forwardBackward` and one `optimStep`, sent together without waiting in between. Optional: for backends to
   * which each wait costs time. The step is applied even if the loss is not finite.
   */
  trainStep?(
    data: readonly Datum[],
    terms: readonly LossTerm[],
    options: PassOptions & { readonly adam: AdamParams; readonly stepId: number },
  ): Promise<{ readonly loss: LossResult; readonly step: StepMetrics }>;
  /** Returns a sampler of the current weights. Later steps do not change it. */
  snapshot(): Promise<Sampler>;
  /** Writes everything that a resumed run needs into a new folder: weights or adapter, moments and step. */
  save(folder: string): Promise<void>;
  /**
   * Deletes what {@link save} has written outside of a folder, such as weights on a server. Returns the name of what
   * could not be deleted, if anything. Absent for a model that writes only to the folder.
   */
  discard?(folder: string): Promise<string | undefined>;
  /**
   * Restores a folder of {@link save} exactly, and drops the accumulated gradient. With `optimizer: false`, the moments of
   * the optimizer start at 0.
   */
  load(folder: string, options?: { readonly optimizer?: boolean }): Promise<void>;
  /**
   * Writes a folder that `transformers` (huggingface) or `peft` (peft) loads. A whole model is written in `dtype`,
   * rounded to the nearest value. By default, `dtype` is that of the base model's files. An adapter is written in
   * float32. The folder has the checksums of its files in `lyceum_checksums.json`, by which Lyceum checks them when it
   * opens the folder. If you change a file, delete that one.
   */
  export(folder: string, format: ExportFormat, options?: { readonly dtype?: ExportDtype }): Promise<void>;
  close(): Promise<void>;
}
