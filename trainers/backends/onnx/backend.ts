import { LyceumError } from "../../../src/contract/errors/index.ts";
import type { Capabilities, LossResult, Model, ModelSpec, TrainingBackend } from "../../backend/training-backend.ts";
import { lossTypes } from "./check-input.ts";
import { checkSpec } from "./check-spec.ts";
import { chooseDevice } from "./device.ts";
import { EngineClient } from "./engine/engine-client.ts";
import { checkRuntime } from "./engine/import-runtime.ts";
import type { Device } from "./engine/session.ts";
import type { Precision } from "./graph/graph.ts";
import { OnnxModel } from "./onnx-model.ts";
import { openSource } from "./open-source.ts";

/** How the embedded engine runs. */
export interface OnnxBackendOptions {
  /** `auto`, the default, takes the fastest device that works: see {@link chooseDevice}. */
  readonly device?: Device | "auto";
  /**
   * What matrix products are computed in when models are trained and evaluated. float16, on webgpu and cuda, takes
   * half of the memory traffic; weights, optimizer, norms, softmax and loss stay in float32, and so does sampling.
   * The loss is scaled so that small gradients are not lost: a pass that overflows is made again at half the scale,
   * and counted as `overflows` among {@link LossResult.metrics}. float32 by default.
   */
  readonly precision?: Precision;
  /** Which of several devices, counted from 0 as its driver counts them; on cuda and dml only. The first by default. */
  readonly deviceIndex?: number;
  /** Threads of the CPU provider; one per core by default. */
  readonly threads?: number;
  /** The most tokens, padding included, of one forward and backward pass; memory grows with it. 2048 by default. */
  readonly maxTokensPerMicroBatch?: number;
  /** The most sequences decoded at a time; the key-value cache grows with it. 32 by default. */
  readonly decodeBatchSize?: number;
}

/**
 * The embedded training engine: ONNX Runtime in a worker thread of this process, no Python, nothing to download.
 * Throws `backend.unsupported` if ONNX Runtime is not installed, if the device that was asked for does not work here, or not in that precision, or if
 * there is none of that index.
 */
export async function createOnnxBackend(options: OnnxBackendOptions = {}): Promise<TrainingBackend> {
  checkRuntime();
  const { precision = "float32", deviceIndex } = options;
  const place = deviceIndex === undefined ? {} : { deviceIndex };
  const device = await chooseDevice(options.device ?? "auto", { precision, ...place });
  const client = new EngineClient({
    device,
    precision,
    ...place,
    ...(options.threads === undefined ? {} : { threads: options.threads }),
    maxTokensPerMicroBatch: options.maxTokensPerMicroBatch ?? 2048,
    decodeBatchSize: options.decodeBatchSize ?? 32,
  });
  return new OnnxBackend(client, { device, precision });
}

class OnnxBackend implements TrainingBackend {
  readonly specificationVersion = "v1" as const;
  readonly capabilities: Capabilities;
  readonly #client: EngineClient;

  constructor(client: EngineClient, { device, precision }: { readonly device: Device; readonly precision: Precision }) {
    this.#client = client;
    this.capabilities = {
      name: "onnx",
      device,
      precision,
      losses: lossTypes,
      trainableSampling: ["temperature", "topK", "topP", "minP"],
      adapters: true,
      fullParameter: true,
      valueHead: true,
      sampledValues: true,
      deterministic: device === "cpu",
      exportFormats: ["huggingface", "peft"],
    };
  }

  async openModel(spec: ModelSpec, options: { readonly signal?: AbortSignal } = {}): Promise<Model> {
    checkSpec(spec);
    const { source, tokenizerSource, tokenizer, renderer } = await openSource(spec.source, options.signal);
    const { trainable, valueHead = false } = spec;
    const opened = await this.#client.call(
      "open",
      { source, tokenizer: tokenizerSource, trainable, valueHead },
      options,
    );
    if (opened.vocabularySize < tokenizer.vocabularySize) {
      await this.#client.call("closeModel", { model: opened.model });
      throw vocabularyError(opened.vocabularySize, tokenizer.vocabularySize);
    }
    return new OnnxModel({ client: this.#client, spec, opened, tokenizer, renderer });
  }

  close(): Promise<void> {
    return this.#client[Symbol.asyncDispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function vocabularyError(model: number, tokenizer: number): LyceumError {
  return new LyceumError({
    code: "model.malformed",
    message: `The model has ${model} embeddings, its tokenizer ${tokenizer} ids.`,
    hint: "For a model from scratch, set vocab_size to at least the tokenizer's vocabulary size.",
  });
}
