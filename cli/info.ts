import { availableParallelism, cpus, totalmem } from "node:os";
import { toErrorData } from "../src/contract/errors/index.ts";
import { type ConfigKey, configReference } from "../src/core/config/index.ts";
import type { EnvironmentEntry } from "../src/core/environment/registry.ts";
import type { AlgorithmDefinition } from "../trainers/algorithms/index.ts";
import { importRuntime } from "../trainers/backends/onnx/engine/import-runtime.ts";
import { configuredPython } from "../trainers/backends/torch/torch-environment.ts";
import { type WorkerInfo, WorkerProcess } from "../trainers/backends/torch/worker-process.ts";
import type { Device } from "../trainers/config/model-config.ts";
import type { Catalog } from "./catalog.ts";
import { type DeviceInfo, deviceInfo } from "./device-info.ts";
import { packageVersion } from "./package-version.ts";
import { policySettingsSchema } from "./policy-file-schema.ts";
import { type PolicyKind, policyKinds } from "./policy-kinds.ts";
import { configKeys } from "./run-config.ts";

/** The output of `lyceum info --json`. */
export interface Info {
  readonly lyceum: string;
  readonly node: string;
  readonly platform: string;
  readonly processor: { readonly model: string; readonly threads: number; readonly memoryBytes: number };
  readonly onnxruntime: OnnxRuntimeInfo;
  readonly devices: readonly DeviceInfo[];
  readonly torch: TorchInfo;
  readonly algorithms: readonly NamedReference[];
  readonly environments: readonly NamedReference[];
  readonly policies: readonly PolicyReference[];
  /** The keys of a config file, without those of algorithms and environments. */
  readonly config: readonly ConfigKey[];
}

/** The runtime of the embedded engine, or why it cannot be loaded. */
export type OnnxRuntimeInfo =
  | {
      readonly version: string;
      /** `bundled`: it is part of the package. Otherwise its library must be installed. */
      readonly providers: readonly { readonly name: string; readonly bundled: boolean }[];
    }
  | { readonly error: string; readonly hint?: string };

/** The PyTorch worker, or why it does not work. */
export type TorchInfo = WorkerInfo | { readonly error: string; readonly hint?: string };

/** A named object and its keys. */
export interface NamedReference {
  readonly id: string;
  readonly description: string;
  readonly keys: readonly ConfigKey[];
}

/** A kind of policy, its keys in a policy file, and how its name is written. */
export interface PolicyReference extends NamedReference {
  readonly usage: string;
}

/** Collects what is installed on this machine. Loads ONNX Runtime to ask it. */
export async function collectInfo(catalog: Catalog): Promise<Info> {
  const { algorithms } = catalog;
  const environments = catalog.environments.list();
  const onnxruntime = await onnxRuntimeInfo();
  return {
    lyceum: packageVersion(),
    node: process.versions.node,
    platform: `${process.platform} ${process.arch}`,
    processor: {
      model: cpus()[0]?.model.trim() ?? "unknown",
      threads: availableParallelism(),
      memoryBytes: totalmem(),
    },
    onnxruntime,
    devices: await deviceInfo("error" in onnxruntime ? [] : deviceNames(onnxruntime)),
    torch: await torchInfo(),
    algorithms: algorithms.map(algorithmReference),
    environments: environments.map(environmentReference),
    policies: policyKinds.list().map(policyReference),
    config: commonConfigKeys(catalog),
  };
}

/** Returns the keys of a config, without those of algorithms and environments. */
export function commonConfigKeys(catalog: Pick<Catalog, "environments" | "algorithms">): ConfigKey[] {
  const ofOne = (key: ConfigKey): boolean => !["environment.id", "algorithm.id"].includes(key.when?.key ?? "");
  return configKeys(catalog).filter(ofOne);
}

/** Returns an algorithm and its settings. */
export function algorithmReference({ id, description, settings }: AlgorithmDefinition): NamedReference {
  return { id, description, keys: configReference(settings) };
}

/** Returns an environment and its options. */
export function environmentReference({ id, description, options }: EnvironmentEntry): NamedReference {
  return { id, description, keys: configReference(options.strict()) };
}

/** Returns a kind of policy, its settings, and how its name is written. */
export function policyReference(kind: PolicyKind): PolicyReference {
  const { id, description, address } = kind;
  const usage = address === undefined ? id : `${id}:${address}`;
  return { id, description, usage, keys: configReference(policySettingsSchema(kind)) };
}

/** Returns the devices of a config that the runtime has a provider for. */
function deviceNames({ providers }: { readonly providers: readonly { readonly name: string }[] }): string[] {
  const known: readonly Device[] = ["cpu", "webgpu", "cuda", "coreml", "dml"];
  return known.filter((device) => providers.some(({ name }) => name === device));
}

async function onnxRuntimeInfo(): Promise<OnnxRuntimeInfo> {
  try {
    const runtime = await importRuntime();
    return {
      version: runtime.env.versions.node ?? runtime.env.versions.common,
      providers: [...runtime.listSupportedBackends()],
    };
  } catch (error) {
    const { message, hint } = toErrorData(error);
    return { error: message, ...(hint === undefined ? {} : { hint }) };
  }
}

/** The time in which a worker must start. */
const torchMs = 120_000;

/** Starts a PyTorch worker if there is an environment for it, and asks it what it has. */
async function torchInfo(): Promise<TorchInfo> {
  const python = configuredPython();
  if (python === undefined) return { error: "not set up (lyceum setup torch)" };
  try {
    await using worker = await WorkerProcess.start(python, {}, AbortSignal.timeout(torchMs));
    return worker.info;
  } catch (error) {
    const { message, hint } = toErrorData(error);
    return { error: message, ...(hint === undefined ? {} : { hint }) };
  }
}
