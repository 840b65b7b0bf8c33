import { availableParallelism, cpus, totalmem } from "node:os";
import type { z } from "zod";
import type { Device } from "../../trainers/config/model-config.ts";
import { type ConfigKey, configReference } from "../config/index.ts";
import { type DeviceInfo, deviceInfo } from "./device-info.ts";
import { packageVersion } from "./package-version.ts";
import type { Rooms } from "./rooms.ts";
import { runConfigSchema } from "./run-config.ts";

/** What `lyceum info --json` prints. */
export interface Info {
  readonly lyceum: string;
  readonly node: string;
  readonly platform: string;
  readonly processor: { readonly model: string; readonly threads: number; readonly memoryBytes: number };
  readonly onnxruntime: OnnxRuntimeInfo;
  readonly devices: readonly DeviceInfo[];
  readonly algorithms: readonly NamedReference[];
  readonly environments: readonly NamedReference[];
  /** Every key of a config file but those of the algorithms and environments. */
  readonly config: readonly ConfigKey[];
}

/** The runtime under the embedded engine, or why it does not load. */
export type OnnxRuntimeInfo =
  | {
      readonly version: string;
      /** `bundled`: it came with the package; otherwise its library has to be installed. */
      readonly providers: readonly { readonly name: string; readonly bundled: boolean }[];
    }
  | { readonly error: string };

/** Something that a config names, with the keys that it takes. */
export interface NamedReference {
  readonly id: string;
  readonly description: string;
  readonly keys: readonly ConfigKey[];
}

/** Gathers what there is on this machine. Loads ONNX Runtime to ask it. */
export async function collectInfo(rooms: Rooms): Promise<Info> {
  const { algorithms } = rooms;
  const environments = rooms.environments.entries;
  const reference = (entry: { id: string; description: string }, schema: z.ZodType): NamedReference => ({
    id: entry.id,
    description: entry.description,
    keys: configReference(schema),
  });
  const ofOne = (key: ConfigKey): boolean => !["environment.id", "algorithm.id"].includes(key.when?.key ?? "");
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
    algorithms: algorithms.map((entry) => reference(entry, entry.settings)),
    environments: environments.map((entry) => reference(entry, entry.options.strict())),
    config: configReference(runConfigSchema({ environments, algorithms })).filter(ofOne),
  };
}

/** The devices of a config that the runtime has a provider for. */
function deviceNames({ providers }: { readonly providers: readonly { readonly name: string }[] }): string[] {
  const known: readonly Device[] = ["cpu", "webgpu", "cuda", "coreml", "dml"];
  return known.filter((device) => providers.some(({ name }) => name === device));
}

async function onnxRuntimeInfo(): Promise<OnnxRuntimeInfo> {
  try {
    const runtime = await import("onnxruntime-node");
    return {
      version: runtime.env.versions.node ?? runtime.env.versions.common,
      providers: [...runtime.listSupportedBackends()],
    };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}
