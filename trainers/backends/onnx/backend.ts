import { invalidConfig } from "../../../src/contract/errors/index.ts";
import { checkSpec } from "../../backend/check-spec.ts";
import type { Capabilities, LossResult, Model, ModelSpec, TrainingBackend } from "../../backend/training-backend.ts";
import { lossTypes } from "../shared/check-input.ts";
import { openSource } from "../shared/open-source.ts";
import { processorName } from "../shared/processor-name.ts";
import { vocabularyProblem } from "../shared/vocabulary-problem.ts";
import { chooseDevice } from "./device.ts";
import { defaultThreads } from "./engine/default-threads.ts";
import { EngineClient } from "./engine/engine-client.ts";
import { checkRuntime } from "./engine/import-runtime.ts";
import type { Device } from "./engine/session.ts";
import type { Precision } from "./graph/graph.ts";
import { OnnxModel } from "./onnx-model.ts";
import { runtimeVersion } from "./runtime-version.ts";

/** The options of the embedded engine. */
export interface OnnxBackendOptions {
  /** `auto`, the default, chooses the fastest device that works: see `chooseDevice`. */
  readonly device?: Device | "auto";
  /**
   * The precision of matrix products in training and evaluation. float16 (webgpu and cuda only) halves the memory
   * traffic. Weights, optimizer state, norms, softmax, loss and sampling stay in float32. The loss is scaled so that
   * small gradients do not underflow. If a pass overflows, it is repeated at half the scale and counted as `overflows`
   * in {@link LossResult.metrics}. Default: float32.
   */
  readonly precision?: Precision;
  /**
   * The device to use if there are several, counted from 0 in the order of the driver. Only for cuda and dml. Default:
   * the first.
   */
  readonly deviceIndex?: number;
  /** The threads of the CPU provider. Default: `OMP_NUM_THREADS`, or one per core. */
  readonly threads?: number;
  /**
   * The maximum number of tokens, padding included, in one forward and backward pass. Memory use grows with it. A pass of
   * several sequences has fewer tokens if its activations would need more than 0.6 GiB, or, with long shared prefixes, more
   * than the weights (see decisions 34 and 36). A shared token counts once. Default: 2048.
   */
  readonly maxTokensPerMicroBatch?: number;
  /** The maximum number of sequences that are decoded at a time. The key-value cache grows with it. Default: 32. */
  readonly decodeBatchSize?: number;
  /**
   * The bits of the matrices of frozen weights, as of the base under an adapter: 4 or 8. The embedding and the output head
   * have 8. Training and sampling use the same values, so that their log-probabilities differ by rounding only. On the CPU
   * and in float32 only. Default: frozen weights are float32.
   */
  readonly quantize?: 4 | 8;
  /**
   * With `quantize`, samplers also round the inputs of products by quantized matrices to 8 bits, in blocks of 32 values. That
   * makes sampling one sequence three to four times as fast, and changes log-probabilities about as much as 8 bits of the
   * weights do. Scores and training do not round inputs, so do not train with such samples. Default: false.
   */
  readonly roundInputs?: boolean;
}

/**
 * Starts the embedded training engine: ONNX Runtime in a worker thread of this process. It needs no Python and no
 * download. Throws `backend.unsupported` if ONNX Runtime is not installed, if the device does not work here or not in
 * this precision, or if there is no device with this index. Throws `config.invalid` if `quantize` is
 * combined with another device than the CPU or with float16.
 */
export async function createOnnxBackend(options: OnnxBackendOptions = {}): Promise<TrainingBackend> {
  checkRuntime();
  const { precision = "float32", deviceIndex, quantize } = options;
  if (quantize !== undefined) checkQuantize(options);
  const device = await chooseDevice(quantize === undefined ? (options.device ?? "auto") : "cpu", {
    precision,
    deviceIndex,
  });
  const client = new EngineClient({
    device,
    precision,
    deviceIndex,
    threads: options.threads,
    maxTokensPerMicroBatch: options.maxTokensPerMicroBatch ?? 2048,
    decodeBatchSize: options.decodeBatchSize ?? 32,
    quantize,
    roundInputs: options.roundInputs,
  });
  return new OnnxBackend(client, { device, precision, threads: options.threads ?? defaultThreads() });
}

class OnnxBackend implements TrainingBackend {
  readonly specificationVersion = "v1";
  readonly capabilities: Capabilities;
  readonly #client: EngineClient;

  constructor(
    client: EngineClient,
    options: { readonly device: Device; readonly precision: Precision; readonly threads: number },
  ) {
    const { device, precision, threads } = options;
    this.#client = client;
    this.capabilities = {
      name: "onnx",
      device,
      machine: {
        hardware: device === "cpu" ? processorName(threads) : device,
        versions: { "onnxruntime-node": runtimeVersion() ?? "unknown" },
      },
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
    const misfit = vocabularyProblem(opened.vocabularySize, tokenizer);
    if (misfit !== undefined) {
      await this.#client.call("closeModel", { model: opened.model });
      throw misfit;
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

/** Throws `config.invalid` for options that quantized weights exclude. */
function checkQuantize({ device = "auto", precision, deviceIndex, quantize }: OnnxBackendOptions): void {
  if (quantize !== 4 && quantize !== 8) {
    throw invalidConfig(
      `backend.quantize is ${String(quantize)}, but frozen weights have 4 or 8 bits.`,
      "Set backend.quantize to 8 or 4, or remove it.",
      { key: "backend.quantize" },
    );
  }
  if (deviceIndex !== undefined || (device !== "auto" && device !== "cpu")) {
    throw invalidConfig(
      `backend.quantize needs the CPU in the embedded engine, but the device is ${device === "auto" ? "chosen by its index" : device}.`,
      "Set model.device to cpu (--device cpu) without model.deviceIndex, or backend.type to torch (--backend torch), which quantizes on a card.",
      { key: "backend.quantize" },
    );
  }
  if (precision === "float16") {
    throw invalidConfig(
      "backend.quantize needs products in float32, but model.precision is float16.",
      "Remove model.precision, or backend.quantize.",
      { key: "backend.quantize" },
    );
  }
}
