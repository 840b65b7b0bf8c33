import type { Benchmark } from "../environments/shared/benchmarks/index.ts";
import type { EnvironmentRegistry } from "../src/core/environment/registry.ts";
import type { AlgorithmDefinition } from "../trainers/algorithms/index.ts";
import type { TrainingBackend } from "../trainers/backend/training-backend.ts";
import type { OnnxBackendOptions } from "../trainers/backends/onnx/index.ts";
import type { TinkerBackendOptions } from "../trainers/backends/tinker/index.ts";
import type { RunConfig } from "./run-config.ts";

/** The environments, algorithms and backends that a config can name. */
export interface Catalog {
  readonly environments: EnvironmentRegistry;
  readonly benchmarks: readonly Benchmark[];
  readonly algorithms: readonly AlgorithmDefinition[];
  createBackend(options: OnnxBackendOptions): Promise<TrainingBackend>;
  /** Opens a session on a server of the Tinker API. */
  createTinkerBackend(options: TinkerBackendOptions): Promise<TrainingBackend>;
}

/** Returns how the engine runs the model of a config. */
export function engineOptions({ model, training }: Pick<RunConfig, "model" | "training">): OnnxBackendOptions {
  const { device, precision, deviceIndex, threads } = model;
  const { maxTokensPerMicroBatch } = training;
  return {
    device,
    maxTokensPerMicroBatch,
    precision,
    deviceIndex,
    threads,
  };
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
    createBackend: async (options) => {
      const { createOnnxBackend } = await import("../trainers/backends/onnx/index.ts");
      return createOnnxBackend(options);
    },
    createTinkerBackend: async (options) => {
      const { createTinkerBackend } = await import("../trainers/backends/tinker/index.ts");
      return createTinkerBackend(options);
    },
  };
}
