import type { Machine } from "../../../src/contract/training-event.ts";
import { checkSpec } from "../../backend/check-spec.ts";
import type { Capabilities, Model, ModelSpec, TrainingBackend } from "../../backend/training-backend.ts";
import { lossTypes } from "../shared/check-input.ts";
import { openSource } from "../shared/open-source.ts";
import { processorName } from "../shared/processor-name.ts";
import { vocabularyProblem } from "../shared/vocabulary-problem.ts";
import { findPython } from "./torch-environment.ts";
import { type OpenedModel, TorchModel } from "./torch-model.ts";
import { type WorkerInfo, WorkerProcess } from "./worker-process.ts";

/**
 * The options of the PyTorch backend.
 *
 * @example
 * import type { TorchBackendOptions } from "lyceum/torch";
 * const options: TorchBackendOptions = { device: "cuda", precision: "bfloat16", recompute: true };
 * options.device; // => "cuda"
 */
export interface TorchBackendOptions {
  /**
   * The Python interpreter that has torch, transformers and peft. Default: `LYCEUM_PYTHON`, the one of `lyceum setup
   * torch`, or `python3`.
   */
  readonly python?: string;
  /** `auto`, the default, takes a CUDA card if PyTorch finds one. */
  readonly device?: "auto" | "cpu" | "cuda";
  /** The card to use if there are several, counted from 0. Default: the first. */
  readonly deviceIndex?: number;
  /**
   * The precision of matrix products and of frozen weights. Trained weights, gradients, moments and losses stay in
   * float32. Default: bfloat16 on a card that has it, else float32.
   */
  readonly precision?: "float32" | "bfloat16" | "float16";
  /** The bits of frozen weights under an adapter, by the package bitsandbytes. Default: they are not quantized. */
  readonly quantize?: 4 | 8;
  /** The threads of the CPU. Default: PyTorch's. */
  readonly threads?: number;
  /** Computes activations again in the backward pass instead of keeping them: less memory, about a third more time. */
  readonly recompute?: boolean;
  /**
   * The maximum number of tokens, padding included, in one forward and backward pass of all processes together. Default:
   * for each process 2048 on a CPU, 16384 on a card.
   */
  readonly maxTokensPerMicroBatch?: number;
  /** The maximum number of completions that a process decodes at a time. Default: 32 on a CPU, 256 on a card. */
  readonly decodeBatchSize?: number;
  /**
   * What samples. `vllm` needs the package vllm in the interpreter's environment. It has a copy of the frozen weights.
   * Default: `torch`.
   */
  readonly sampler?: "torch" | "vllm";
  /**
   * Compiles the decoding step by `torch.compile`, which replays it as CUDA graphs on a card. Needs a C++ compiler. The
   * first tokens take minutes. Default: false.
   */
  readonly compile?: boolean;
  /** The memory for keys and values of vLLM, in GiB. Default: 4. */
  readonly samplerMemory?: number;
  /** The processes on this machine, one for each card. Default: 1. Each computes its own rows of a batch. */
  readonly processes?: number;
  /**
   * How several processes hold the model. `ddp`, the default: each has all weights. `fsdp`: each has a part of each
   * layer, which suits models that do not fit on one card.
   */
  readonly strategy?: "ddp" | "fsdp";
  /** The machines, of which this is the first. Start `lyceum torch-node` on each other one. Default: 1. */
  readonly nodes?: number;
  /** The address and port of this machine, such as `10.0.0.1:29500`, for `nodes`. */
  readonly rendezvous?: string;
}

/**
 * Starts a PyTorch worker: a Python process that runs any causal language model of `transformers`, with adapters of
 * `peft`. Use it to train on one's own card. Throws `backend.unsupported` if the interpreter, a package or the device is
 * missing.
 *
 * @example
 * import { createTorchBackend } from "lyceum/torch";
 * const backend = await createTorchBackend({ device: "cuda" });
 * await backend.close();
 */
export async function createTorchBackend(
  options: TorchBackendOptions & { readonly signal?: AbortSignal } = {},
): Promise<TrainingBackend> {
  const { python = findPython(), signal, maxTokensPerMicroBatch, ...settings } = options;
  return backendOn(await WorkerProcess.start(python, settings, signal), maxTokensPerMicroBatch);
}

/** Returns the backend of a worker that has started. */
export function backendOn(worker: WorkerProcess, maxTokensPerMicroBatch?: number): TrainingBackend {
  const { device, processes } = worker.info;
  return new TorchBackend(worker, maxTokensPerMicroBatch ?? processes * (device === "cuda" ? 16_384 : 2048));
}

class TorchBackend implements TrainingBackend {
  readonly specificationVersion = "v1";
  readonly capabilities: Capabilities;
  readonly #worker: WorkerProcess;
  readonly #maxTokens: number;

  constructor(worker: WorkerProcess, maxTokensPerMicroBatch: number) {
    this.#worker = worker;
    this.#maxTokens = maxTokensPerMicroBatch;
    this.capabilities = capabilitiesOf(worker.info);
  }

  async openModel(spec: ModelSpec, options: { readonly signal?: AbortSignal } = {}): Promise<Model> {
    checkSpec(spec);
    const { signal } = options;
    const source = await openSource(spec.source, signal);
    signal?.throwIfAborted();
    const { trainable, valueHead = false } = spec;
    const { value } = await this.#worker.call("open", { source: source.source, trainable, valueHead });
    const opened = value as unknown as OpenedModel;
    const model = new TorchModel({
      worker: this.#worker,
      spec,
      source,
      opened,
      maxTokensPerMicroBatch: this.#maxTokens,
    });
    const misfit = vocabularyProblem(opened.vocabularySize, source.tokenizer);
    if (signal?.aborted === true || misfit !== undefined) {
      await model.close();
      signal?.throwIfAborted();
      throw misfit;
    }
    return model;
  }

  close(): Promise<void> {
    return this.#worker[Symbol.asyncDispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function capabilitiesOf(info: WorkerInfo): Capabilities {
  const { device, precision, sampler } = info;
  return {
    name: "torch",
    device,
    machine: machineOf(info),
    precision,
    losses: lossTypes,
    trainableSampling: ["temperature", "topK", "topP", "minP"],
    adapters: true,
    fullParameter: true,
    valueHead: true,
    sampledValues: sampler === "torch",
    deterministic: device === "cpu",
    exportFormats: ["huggingface", "peft"],
  };
}

function machineOf({ card, threads, processes, torch, cuda, transformers, peft }: WorkerInfo): Machine {
  const one = card ?? processorName(threads);
  return {
    hardware: processes === 1 ? one : `${processes} x ${one}`,
    versions: { torch, ...(cuda === null || card === null ? {} : { cuda }), transformers, peft },
  };
}
