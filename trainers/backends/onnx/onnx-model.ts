import type {
  Sample,
  SampleOptions,
  SampleRequest,
  Sampler,
  ScoreRequest,
  TokenScores,
} from "../../../src/contract/sampler.ts";
import type { Renderer } from "../../../src/core/tokens/renderer.ts";
import type { Tokenizer } from "../../../src/core/tokens/tokenizer.ts";
import { checkAdamParams } from "../../backend/check-spec.ts";
import type { Datum } from "../../backend/datum.ts";
import type { LossTerm } from "../../backend/loss-term.ts";
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
  PassProgress,
  StepMetrics,
} from "../../backend/training-backend.ts";
import { writeModelChecksums } from "../../model-folders/weights/model-checksums.ts";
import { checkData, checkOutputs, checkRequests, checkScore, checkTerms } from "../shared/check-input.ts";
import type { OpenedModel } from "./engine/engine-calls.ts";
import type { EngineClient } from "./engine/engine-client.ts";

/** The trainer's handle of a model on the engine's thread. */
export class OnnxModel implements Model {
  readonly spec: ModelSpec;
  readonly tokenizer: Tokenizer;
  readonly renderer: Renderer;
  readonly isAdapter: boolean;
  readonly parameterCount: number;
  readonly maxLength: number;
  /** The engine that runs this model, and the model's id in it. Used by {@link readLogits} and similar functions. */
  readonly client: EngineClient;
  readonly id: number;
  readonly #vocabularySize: number;
  #version = 0;
  #closed = false;

  constructor(options: {
    readonly client: EngineClient;
    readonly spec: ModelSpec;
    readonly opened: OpenedModel;
    readonly tokenizer: Tokenizer;
    readonly renderer: Renderer;
  }) {
    const { opened } = options;
    this.client = options.client;
    this.spec = options.spec;
    this.tokenizer = options.tokenizer;
    this.renderer = options.renderer;
    this.id = opened.model;
    this.isAdapter = opened.isAdapter;
    this.parameterCount = opened.parameterCount;
    this.maxLength = opened.maxLength;
    this.#vocabularySize = opened.vocabularySize;
  }

  get version(): number {
    return this.#version;
  }

  async forward(
    data: readonly Datum[],
    options: PassOptions & { readonly outputs: readonly ForwardOutput[] },
  ): Promise<ForwardResult[]> {
    checkOutputs(options.outputs, this.spec.valueHead === true);
    this.#checkData(data);
    const { outputs, maxTokensPerMicroBatch } = options;
    return this.client.call("forward", { model: this.id, data, outputs, maxTokensPerMicroBatch }, callOptions(options));
  }

  async forwardBackward(
    data: readonly Datum[],
    terms: readonly LossTerm[],
    options: PassOptions = {},
  ): Promise<LossResult> {
    this.#checkData(data);
    checkTerms(data, terms, this.spec.valueHead === true);
    const { maxTokensPerMicroBatch } = options;
    const pass = { model: this.id, data, terms, maxTokensPerMicroBatch };
    return this.client.call("forwardBackward", pass, callOptions(options));
  }

  async optimStep(params: AdamParams, options: { readonly stepId: number }): Promise<StepMetrics> {
    checkAdamParams(params);
    const metrics = await this.client.call("optimStep", { model: this.id, params, stepId: options.stepId });
    this.#version = metrics.version;
    return metrics;
  }

  async snapshot(): Promise<Sampler> {
    const { sampler, version } = await this.client.call("snapshot", { model: this.id });
    return new OnnxSampler({
      client: this.client,
      id: sampler,
      version,
      maxLength: this.maxLength,
      vocabularySize: this.#vocabularySize,
    });
  }

  save(folder: string): Promise<void> {
    return this.client.call("save", { model: this.id, folder });
  }

  async load(folder: string, { optimizer = true }: { readonly optimizer?: boolean } = {}): Promise<void> {
    const { version } = await this.client.call("load", { model: this.id, folder, optimizer });
    this.#version = version;
  }

  async export(folder: string, format: ExportFormat, options: { readonly dtype?: ExportDtype } = {}): Promise<void> {
    await this.client.call("export", { model: this.id, folder, format, ...options });
    await writeModelChecksums(folder);
  }

  async close(): Promise<void> {
    if (this.#closed || this.client.ended) return;
    this.#closed = true;
    await this.client.call("closeModel", { model: this.id });
  }

  #checkData(data: readonly Datum[]): void {
    checkData(data, { maxLength: this.maxLength, vocabularySize: this.#vocabularySize });
  }
}

function callOptions({ signal, onProgress }: PassOptions) {
  return { signal, onItem: (item: unknown) => onProgress?.(item as PassProgress) };
}

class OnnxSampler implements Sampler {
  readonly specificationVersion = "v1";
  readonly version: number;
  readonly #client: EngineClient;
  readonly #id: number;
  readonly #limits: { readonly maxLength: number; readonly vocabularySize: number };
  #closed = false;

  constructor(options: {
    readonly client: EngineClient;
    readonly id: number;
    readonly version: number;
    readonly maxLength: number;
    readonly vocabularySize: number;
  }) {
    this.version = options.version;
    this.#client = options.client;
    this.#id = options.id;
    this.#limits = options;
  }

  async *sample(requests: readonly SampleRequest[], options: SampleOptions = {}): AsyncGenerator<Sample> {
    checkRequests(requests, this.#limits);
    const arrived: Sample[] = [];
    let wake: () => void = () => undefined;
    let ended = false;
    const stop = new AbortController();
    const signal = options.signal === undefined ? stop.signal : AbortSignal.any([options.signal, stop.signal]);
    const call = this.#client
      .call(
        "sample",
        {
          sampler: this.#id,
          requests,
          reportTokens: options.onSampled !== undefined,
          shared: options.shared,
          reuse: options.reuse,
        },
        {
          signal,
          signals: options.signals,
          onItem: (item) => {
            if (typeof item === "number") return options.onTokens?.(item);
            if (Array.isArray(item)) return options.onSampled?.(item);
            arrived.push(item as Sample);
            wake();
          },
        },
      )
      .finally(() => {
        ended = true;
        wake();
      });
    call.catch(() => undefined);
    try {
      while (true) {
        while (arrived.length > 0) yield arrived.shift()!;
        if (ended) break;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      await call;
    } finally {
      // If the consumer stops early, the engine stops too.
      if (!ended) stop.abort();
    }
  }

  async score(request: ScoreRequest, { signal }: Pick<SampleOptions, "signal"> = {}): Promise<TokenScores> {
    checkScore(request, this.#limits);
    return this.#client.call("score", { sampler: this.#id, request }, { signal });
  }

  async close(): Promise<void> {
    if (this.#closed || this.#client.ended) return;
    this.#closed = true;
    await this.#client.call("closeSampler", { sampler: this.#id });
  }
}
