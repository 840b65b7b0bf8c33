import { LyceumError } from "../../../src/contract/errors/index.ts";
import type { Sampler } from "../../../src/contract/sampler.ts";
import { deriveSeed } from "../../../src/core/random/random.ts";
import { sum } from "../../../src/core/statistics.ts";
import type { Renderer } from "../../../src/core/tokens/renderer.ts";
import type { Tokenizer } from "../../../src/core/tokens/tokenizer.ts";
import { checkAdamParams } from "../../backend/check-spec.ts";
import type { Datum } from "../../backend/datum.ts";
import type { LossTerm } from "../../backend/loss-term.ts";
import { microBatches } from "../../backend/micro-batches.ts";
import type {
  AdamParams,
  ExportDtype,
  ExportFormat,
  ForwardOutput,
  ForwardResult,
  LossResult,
  Model,
  ModelSpec,
  PassOptions,
  StepMetrics,
} from "../../backend/training-backend.ts";
import { writeTokenizerFiles } from "../../model-folders/hugging-face-folder.ts";
import { writeModelChecksums } from "../../model-folders/weights/model-checksums.ts";
import { writeNewFolder } from "../../model-folders/weights/new-folder.ts";
import { checkData, checkOutputs, checkTerms } from "../shared/check-input.ts";
import type { OpenedSource } from "../shared/open-source.ts";
import { tokenizerFilesOf } from "../shared/tokenizer-source.ts";
import { layOut, lossesOf, outputsOf, scatter } from "./loss-pass.ts";
import { TorchSampler } from "./torch-sampler.ts";
import type { WorkerProcess } from "./worker-process.ts";

/** What the worker says of a model that it has opened. */
export interface OpenedModel {
  readonly model: number;
  readonly isAdapter: boolean;
  readonly parameterCount: number;
  readonly maxLength: number;
  readonly vocabularySize: number;
}

/** The trainer's handle of a model in the worker. */
export class TorchModel implements Model {
  readonly spec: ModelSpec;
  readonly tokenizer: Tokenizer;
  readonly renderer: Renderer;
  readonly isAdapter: boolean;
  readonly parameterCount: number;
  readonly maxLength: number;
  readonly #worker: WorkerProcess;
  readonly #source: OpenedSource;
  readonly #opened: OpenedModel;
  readonly #maxTokens: number;
  /** Ends when the last pass or step has ended. A pass takes several calls, which those of another must not split. */
  #last: Promise<unknown> = Promise.resolve();
  #version = 0;
  /** The micro-batches with dropout since the last step, so that a resumed run draws the same masks. */
  #dropped = 0;
  #closed = false;

  constructor(options: {
    readonly worker: WorkerProcess;
    readonly spec: ModelSpec;
    readonly source: OpenedSource;
    readonly opened: OpenedModel;
    readonly maxTokensPerMicroBatch: number;
  }) {
    const { source, opened } = options;
    this.#worker = options.worker;
    this.#source = source;
    this.#opened = opened;
    this.#maxTokens = options.maxTokensPerMicroBatch;
    this.spec = options.spec;
    this.tokenizer = source.tokenizer;
    this.renderer = source.renderer;
    this.isAdapter = opened.isAdapter;
    this.parameterCount = opened.parameterCount;
    this.maxLength = opened.maxLength;
  }

  get version(): number {
    return this.#version;
  }

  async forward(
    data: readonly Datum[],
    options: PassOptions & { readonly outputs: readonly ForwardOutput[] },
  ): Promise<ForwardResult[]> {
    const { outputs } = options;
    checkOutputs(outputs, this.spec.valueHead === true);
    this.#checkData(data);
    if (outputs.length === 0) return data.map(() => ({}));
    return this.#inOrder(async () => {
      const results: ForwardResult[] = new Array(data.length);
      for (const indices of this.#split(data, options)) {
        options.signal?.throwIfAborted();
        const part = indices.map((index) => data[index]!);
        const { arrays, shapes, positions } = layOut(part, this.#opened.vocabularySize);
        const answer = await this.#call("forward", { outputs, gradient: false }, { arrays, shapes });
        const found = outputs.map((name) => [name, scatter(part, answer.arrays[name] as Float32Array)] as const);
        for (const [i, index] of indices.entries()) {
          results[index] = Object.fromEntries(found.map(([name, values]) => [name, values[i]!]));
        }
        options.onProgress?.({ sequences: part.length, tokens: positions.length });
      }
      return results;
    });
  }

  async forwardBackward(
    data: readonly Datum[],
    terms: readonly LossTerm[],
    options: PassOptions = {},
  ): Promise<LossResult> {
    this.#checkData(data);
    checkTerms(data, terms, this.spec.valueHead === true);
    return this.#inOrder(async () => {
      try {
        // In float16 a pass whose gradient overflows runs again with a smaller scale.
        while (true) {
          const dropped = this.#dropped;
          const result = await this.#pass(data, terms, options);
          if (result !== undefined) return result;
          this.#dropped = dropped;
        }
      } catch (error) {
        if (!this.#worker.ended) await this.#call("rollback", {});
        throw error;
      }
    });
  }

  /** Returns undefined, and the worker drops the gradient, if it has overflowed. */
  async #pass(
    data: readonly Datum[],
    terms: readonly LossTerm[],
    options: PassOptions,
  ): Promise<LossResult | undefined> {
    const outputs = outputsOf(terms);
    const logprobs: Float32Array[] = new Array(data.length);
    const values: Float32Array[] = new Array(data.length);
    const totals = terms.map(() => 0);
    let tokens = 0;
    const batches = this.#split(data, options);
    for (const [n, indices] of batches.entries()) {
      options.signal?.throwIfAborted();
      const part = indices.map((index) => data[index]!);
      const { arrays, shapes, positions } = layOut(part, this.#opened.vocabularySize);
      const dropoutSeed = this.#dropoutSeed(terms);
      const pass = { outputs, gradient: true, ...(dropoutSeed === undefined ? {} : { dropoutSeed }) };
      const answer = await this.#call("forward", pass, { arrays, shapes });
      const found = answer.arrays as Partial<Record<ForwardOutput, Float32Array>>;
      const { sums, derivatives } = lossesOf(terms, positions, found);
      for (const [i, value] of sums.entries()) totals[i]! += value;
      if (!Number.isFinite(sum(sums))) throw notFinite(`The loss is ${sum(sums)}`);
      const last = n === batches.length - 1;
      const { value } = await this.#call("backward", { last }, { arrays: derivatives });
      if (value.overflow === true) return undefined;
      const back = (name: ForwardOutput, into: Float32Array[]): void => {
        if (found[name] === undefined) return;
        for (const [i, array] of scatter(part, found[name]).entries()) into[indices[i]!] = array;
      };
      back("logprobs", logprobs);
      back("values", values);
      tokens += positions.length;
      options.onProgress?.({ sequences: part.length, tokens: positions.length });
    }
    return {
      loss: sum(totals),
      terms: totals,
      logprobs: outputs.includes("logprobs") ? logprobs : [],
      ...(outputs.includes("values") ? { values } : {}),
      tokens,
      metrics: {},
    };
  }

  async optimStep(params: AdamParams, options: { readonly stepId: number }): Promise<StepMetrics> {
    checkAdamParams(params);
    return this.#inOrder(async () => {
      const { clipNorm = Number.POSITIVE_INFINITY } = params;
      const sent = { ...params, clipNorm: clipNorm === Number.POSITIVE_INFINITY ? undefined : clipNorm };
      const { value } = await this.#call("step", { params: sent, stepId: options.stepId });
      this.#version = value.version as number;
      this.#dropped = 0;
      return { gradientNorm: value.gradientNorm as number, version: this.#version };
    });
  }

  async snapshot(): Promise<Sampler> {
    const { value } = await this.#inOrder(() => this.#call("snapshot", {}));
    return new TorchSampler({
      worker: this.#worker,
      id: value.sampler as number,
      version: value.version as number,
      maxLength: this.maxLength,
      vocabularySize: this.#opened.vocabularySize,
      tokenizer: this.tokenizer,
    });
  }

  save(folder: string): Promise<void> {
    return this.#inOrder(() =>
      writeNewFolder(folder, async (partial) => {
        await this.#call("save", { folder: partial });
      }),
    );
  }

  load(folder: string, { optimizer = true }: { readonly optimizer?: boolean } = {}): Promise<void> {
    return this.#inOrder(async () => {
      const { value } = await this.#call("load", { folder, optimizer });
      this.#version = value.version as number;
      this.#dropped = 0;
    });
  }

  export(folder: string, format: ExportFormat, { dtype }: { readonly dtype?: ExportDtype } = {}): Promise<void> {
    if (format === "peft" && !this.isAdapter) {
      return Promise.reject(
        new LyceumError({
          code: "backend.unsupported",
          message: "This model has no adapter, so it cannot be exported as one.",
          hint: "Export it in the format huggingface.",
        }),
      );
    }
    return this.#inOrder(() =>
      writeNewFolder(folder, async (partial) => {
        const { source } = this.#source;
        const baseModel = source.type === "folder" ? (source.hub?.id ?? source.folder) : undefined;
        await this.#call("export", { folder: partial, format, dtype, baseModel });
        await writeTokenizerFiles(partial, await tokenizerFilesOf(this.#source.tokenizerSource));
        await writeModelChecksums(partial);
      }),
    );
  }

  async close(): Promise<void> {
    if (this.#closed || this.#worker.ended) return;
    this.#closed = true;
    await this.#inOrder(() => this.#call("closeModel", {}));
  }

  #checkData(data: readonly Datum[]): void {
    checkData(data, { maxLength: this.maxLength, vocabularySize: this.#opened.vocabularySize });
  }

  #split(data: readonly Datum[], { maxTokensPerMicroBatch = Number.POSITIVE_INFINITY }: PassOptions): number[][] {
    const lengths = data.map(({ tokens }) => tokens.length);
    return microBatches(lengths, Math.min(maxTokensPerMicroBatch, this.#maxTokens));
  }

  /** Dropout applies only if all terms are cross-entropies: see `LoraSpec.dropout`. Each micro-batch has its own masks. */
  #dropoutSeed(terms: readonly LossTerm[]): number | undefined {
    const { trainable } = this.spec;
    if (trainable.type !== "lora" || !trainable.lora.dropout || terms.some(({ type }) => type !== "crossEntropy")) {
      return undefined;
    }
    this.#dropped += 1;
    return deriveSeed(trainable.lora.seed ?? 0, "dropout", this.#version, this.#dropped) % 2 ** 31;
  }

  #call(name: string, argument: Readonly<Record<string, unknown>>, options: Parameters<WorkerProcess["call"]>[2] = {}) {
    return this.#worker.call(name, { model: this.#opened.model, ...argument }, options);
  }

  #inOrder<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }
}

function notFinite(what: string): LyceumError {
  return new LyceumError({
    code: "backend.not-finite",
    message: `${what}. The weights were not changed.`,
    hint: "Lower training.learningRate or training.clipNorm, and check the rewards and demonstrations for extreme values.",
  });
}
