import type { Benchmark } from "../environments/shared/benchmarks/index.ts";
import { invalidConfig } from "../src/contract/errors/index.ts";
import type { EnvironmentRegistry } from "../src/core/environment/registry.ts";
import type { AlgorithmDefinition } from "../trainers/algorithms/index.ts";
import type { TrainingBackend } from "../trainers/backend/training-backend.ts";
import type { OnnxBackendOptions } from "../trainers/backends/onnx/index.ts";
import type { TinkerBackendOptions } from "../trainers/backends/tinker/index.ts";
import type { TorchBackendOptions } from "../trainers/backends/torch/index.ts";
import type { Device } from "../trainers/config/model-config.ts";
import type { RunConfig } from "./run-config.ts";

/** An engine on this machine and its options. */
export type EngineOptions =
  | ({ readonly type: "onnx" } & OnnxBackendOptions)
  | ({ readonly type: "torch" } & TorchBackendOptions);

/** The name of an engine on this machine. */
export type EngineType = EngineOptions["type"];

/** The environments, algorithms and backends that a config can name. */
export interface Catalog {
  readonly environments: EnvironmentRegistry;
  readonly benchmarks: readonly Benchmark[];
  readonly algorithms: readonly AlgorithmDefinition[];
  /** Starts an engine on this machine. */
  createBackend(options: EngineOptions): Promise<TrainingBackend>;
  /** Opens a session on a server of the Tinker API. */
  createTinkerBackend(options: TinkerBackendOptions): Promise<TrainingBackend>;
}

/** Returns the engine of a config. Throws `config.invalid` for keys that the engine does not have. */
export function engineOptions(config: Pick<RunConfig, "model" | "training" | "backend">): EngineOptions {
  const { model, training, backend } = config;
  const { device, precision, deviceIndex, threads } = model;
  const { maxTokensPerMicroBatch } = training;
  if (backend.type !== "torch") {
    const quantize = backend.type === "onnx" ? backend.quantize : undefined;
    return { type: "onnx", device, maxTokensPerMicroBatch, precision, deviceIndex, threads, quantize };
  }
  if (precision !== "float32") {
    throw invalidConfig(
      `model.precision is ${precision}, which only the embedded engine has.`,
      "Remove it, and set backend.precision instead.",
    );
  }
  return { ...backend, device: torchDevice(device), maxTokensPerMicroBatch, deviceIndex, threads };
}

/** The options of a command line for the engine. */
export interface NamedEngine {
  readonly backend: EngineType;
  readonly device: Device;
  readonly quantize?: 4 | 8 | undefined;
}

/**
 * Returns the engine that a command line names. Nothing compares the log-probabilities of its models with those of a training
 * unless it `trains`, so products by quantized weights round their inputs too. Throws `config.invalid` for a device that it
 * does not have.
 */
export function namedEngine({ backend, device, quantize }: NamedEngine, { trains = false } = {}) {
  return backend === "torch"
    ? ({ type: backend, device: torchDevice(device), quantize } as const)
    : ({ type: backend, device, quantize, roundInputs: !trains } as const);
}

function torchDevice(device: Device): "auto" | "cpu" | "cuda" {
  if (device === "auto" || device === "cpu" || device === "cuda") return device;
  throw invalidConfig(`PyTorch does not run on ${device}.`, "Set the device to auto, cpu or cuda.", { device });
}

/** Opens everything that is part of Lyceum. The engine is loaded when a backend is created. */
export async function openCatalog(): Promise<Catalog> {
  const { environments } = await import("../environments/index.ts");
  const { benchmarks } = await import("../environments/shared/benchmarks/index.ts");
  const { algorithms } = await import("../trainers/algorithms/index.ts");
  return {
    environments,
    benchmarks: benchmarks.list(),
    algorithms: algorithms.list(),
    createBackend: async ({ type, ...options }) => {
      if (type === "torch") {
        const { createTorchBackend } = await import("../trainers/backends/torch/index.ts");
        return createTorchBackend(options as TorchBackendOptions);
      }
      const { createOnnxBackend } = await import("../trainers/backends/onnx/index.ts");
      return createOnnxBackend(options as OnnxBackendOptions);
    },
    createTinkerBackend: async (options) => {
      const { createTinkerBackend } = await import("../trainers/backends/tinker/index.ts");
      return createTinkerBackend(options);
    },
  };
}
