import type { Json } from "../../src/contract/json.ts";
import type { Sampler } from "../../src/contract/sampler.ts";
import type { Renderer } from "../../src/core/tokens/renderer.ts";
import type { Tokenizer } from "../../src/core/tokens/tokenizer.ts";
import type { Datum } from "./datum.ts";
import type { LossTerm } from "./loss-term.ts";

/** What a backend can do, asked before a run starts rather than found out in the middle of it. */
export interface Capabilities {
  readonly name: string;
  /** What it runs on, such as `cpu` or `webgpu`. */
  readonly device?: string;
  /** What it computes matrix products in where it trains; weights are always kept in float32. float32 when absent. */
  readonly precision?: "float32" | "float16";
  /** The loss terms that it fuses into its training step. */
  readonly losses: readonly LossTerm["type"][];
  /** Sampling settings whose processed distribution it can also train on. */
  readonly trainableSampling: readonly ("temperature" | "topK" | "topP" | "minP")[];
  readonly adapters: boolean;
  readonly fullParameter: boolean;
  /** Models can be opened with {@link ModelSpec.valueHead}. */
  readonly valueHead: boolean;
  /** Samplers of models with a value head tell the values of the states that they sample in: `Sample.values`. */
  readonly sampledValues?: boolean;
  /** Two identical runs give identical weights. */
  readonly deterministic: boolean;
  /** Forms that {@link Model.export} can write. */
  readonly exportFormats: readonly ExportFormat[];
}

/** Hugging Face folder (safetensors, config, tokenizer), or PEFT adapter folder. */
export type ExportFormat = "huggingface" | "peft";

/** What the weights of a Hugging Face folder are written in. */
export type ExportDtype = "float32" | "float16" | "bfloat16";

/** What a chat template sees by name. */
export type TemplateVariables = Readonly<Record<string, Json>>;

/** Where a model's weights come from. */
export type ModelSource =
  /**
   * A Hugging Face folder or a PEFT adapter folder on this machine, or the hub id (`owner/name`) of either. An adapter
   * stands for the model that it adapts with the adapter on it; `base` names that model (a folder or hub id) in place
   * of the one that the adapter's config names.
   *
   * `chatTemplate` takes the place of the model's own: a Jinja file, or `"none"` for a base model, whose prompts are the
   * texts of the messages, one after another. `templateVariables` are what the template sees beside messages, tools and
   * special tokens, such as `enable_thinking`.
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
  /** The update is scaled by alpha / rank. 32 by default. */
  readonly alpha?: number;
  /**
   * Linear layers, as peft names them: the last part of a layer's name, such as `q_proj`, `c_attn` or `c_proj`, or more
   * of it, such as `mlp.c_proj`. Every linear layer of the blocks when absent.
   */
  readonly targets?: readonly string[];
  /**
   * The share of each adapter's inputs that is dropped, the others scaled by 1 / (1 - dropout), in passes of
   * {@link Model.forwardBackward} whose terms are all `crossEntropy`; the log-probabilities that these give are those
   * with dropout. Never in sampling, in {@link Model.forward}, or beside any other term: those compare
   * log-probabilities of several passes. Each sequence of each step has masks of its own. 0 by default.
   */
  readonly dropout?: number;
  /** Seeds the random half of each adapter, and its dropout. */
  readonly seed?: number;
}

/**
 * Which parameters a model trains. `frozen` trains none: a reference, or a partner. `full` trains every weight, after an
 * adapter of the source is merged.
 */
export type TrainableSpec =
  | { readonly type: "full" }
  | {
      readonly type: "lora";
      readonly lora: LoraSpec;
      /**
       * What becomes of an adapter of the source. `continue`, the default, trains it on: its rank, alpha and targets
       * are its own, and others in `lora` are `config.invalid`. `merge` adds it to the base and trains a new one.
       */
      readonly start?: "continue" | "merge";
    }
  | { readonly type: "frozen" };

/** A model to open. Models of equal source share one copy of the frozen weights. */
export interface ModelSpec {
  readonly source: ModelSource;
  readonly trainable: TrainableSpec;
  /**
   * Adds a scalar per token, V, a linear layer over the final hidden state that starts at 0. It is always trained as
   * it is, beside an adapter too; a frozen model cannot have one. Read by `value` terms and the output `values`.
   */
  readonly valueHead?: boolean;
}

/** Runs and trains models. Opened models are closed with it. */
export interface TrainingBackend extends AsyncDisposable {
  readonly specificationVersion: "v1";
  readonly capabilities: Capabilities;
  openModel(spec: ModelSpec, options?: { readonly signal?: AbortSignal }): Promise<Model>;
  close(): Promise<void>;
}

/** What {@link Model.forward} can return. */
export type ForwardOutput = "logprobs" | "entropy" | "values";

/** Per-token outputs of one datum; each array is as long as the datum's tokens, 0 where its loss mask is 0. */
export interface ForwardResult {
  readonly logprobs?: Float32Array;
  readonly entropy?: Float32Array;
  /** V_t, the value of the state in which `targets[t]` is to be sampled. */
  readonly values?: Float32Array;
}

/** What a {@link Model.forwardBackward} found, beside the gradient that it added. */
export interface LossResult {
  /** The sum of all terms over all tokens. */
  readonly loss: number;
  /** The sum of each term, in the order of the terms. */
  readonly terms: readonly number[];
  /**
   * Current log-probabilities per datum, as in {@link ForwardResult}. Empty where every term is a `value` term: what
   * the head over the vocabulary gives is not computed then.
   */
  readonly logprobs: readonly Float32Array[];
  /** Current values per datum, as in {@link ForwardResult}, where a term is a `value` term. */
  readonly values?: readonly Float32Array[];
  /** Tokens whose loss mask is not 0. */
  readonly tokens: number;
  /** Sums over those tokens for metrics, such as `clipped` (tokens whose ratio was clipped). */
  readonly metrics: Readonly<Record<string, number>>;
}

/**
 * AdamW with decoupled weight decay (Loshchilov and Hutter 2017, https://arxiv.org/abs/1711.05101). Biases and the weights
 * of norms are not decayed.
 */
export interface AdamParams {
  readonly learningRate: number;
  readonly beta1: number;
  readonly beta2: number;
  readonly epsilon: number;
  readonly weightDecay: number;
  /** Scales the gradient down to this global L2 norm where it exceeds it; absent or Infinity: no clipping. */
  readonly clipNorm?: number;
}

/** What one optimizer step did. */
export interface StepMetrics {
  /** Global L2 norm of the gradient before clipping. */
  readonly gradientNorm: number;
  /** Weights version after the step. */
  readonly version: number;
}

/** One set of weights that can be run, trained, sampled from and saved. */
export interface Model {
  readonly spec: ModelSpec;
  readonly tokenizer: Tokenizer;
  readonly renderer: Renderer;
  /** True for an adapter on a base, also a frozen one: `peft` exports it as it is, `huggingface` merged into its base. */
  readonly isAdapter: boolean;
  /** The number of trainable values. */
  readonly parameterCount: number;
  /** Grows by one with each optimizer step. */
  readonly version: number;
  /** The most tokens of one sequence. */
  readonly maxLength: number;
  forward(
    data: readonly Datum[],
    options: { readonly outputs: readonly ForwardOutput[]; readonly signal?: AbortSignal },
  ): Promise<ForwardResult[]>;
  /** Adds the gradient of the sum of all terms over all tokens to the accumulated gradient. */
  forwardBackward(
    data: readonly Datum[],
    terms: readonly LossTerm[],
    options?: { readonly signal?: AbortSignal },
  ): Promise<LossResult>;
  /**
   * Applies the accumulated gradient and clears it. A `stepId` that has been applied already is not applied again,
   * so that a retry is harmless. A gradient that is not finite throws `backend.not-finite` and leaves the weights as
   * they were.
   */
  optimStep(params: AdamParams, options: { readonly stepId: number }): Promise<StepMetrics>;
  /** A sampler of the weights as they are now; later steps do not change it. */
  snapshot(): Promise<Sampler>;
  /** Writes everything that resuming needs into a new folder: weights or adapter, moments, step. */
  save(folder: string): Promise<void>;
  /** Restores what {@link save} wrote, to the bit; an accumulated gradient is dropped. */
  load(folder: string): Promise<void>;
  /**
   * Writes a folder that `transformers` (huggingface) or `peft` (peft) loads. A whole model is written in `dtype`, by
   * default in what its base's files have, rounded to the nearest value. An adapter is written in float32.
   */
  export(folder: string, format: ExportFormat, options?: { readonly dtype?: ExportDtype }): Promise<void>;
  close(): Promise<void>;
}
