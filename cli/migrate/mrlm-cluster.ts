import type { Json } from "../../src/contract/json.ts";
import { algorithmOf } from "./mrlm-run.ts";
import type { OldConfig } from "./old-config.ts";
import type { Converted } from "./old-key.ts";

/** The GPUs that an MRLM config trains on. */
export interface MrlmCluster {
  readonly nodes: number;
  readonly gpusPerNode: number;
  /** The engine of SkyRL that trains. */
  readonly engine: "fsdp" | "megatron";
  /** The head node. */
  readonly address: string;
  /** The port of Ray on the head node. */
  readonly port: number;
  /** The indices of the GPUs to use, as CUDA_VISIBLE_DEVICES. All if undefined. */
  readonly gpuIds: string | undefined;
}

/** Returns the GPUs of a config if there are several. Returns undefined for one GPU, and without distributed training. */
export function clusterOf(config: OldConfig): MrlmCluster | undefined {
  if (config.get("distributed.enabled") !== true) return undefined;
  const nodes = count(config.number("distributed.num_nodes")) ?? 1;
  const world = count(config.number("distributed.world_size"));
  const ids = config.get("distributed.gpu_ids");
  const gpuIds = Array.isArray(ids) && ids.length > 0 && ids.every(Number.isSafeInteger) ? ids : undefined;
  const gpusPerNode =
    count(config.number("distributed.num_gpus")) ??
    (world === undefined ? (gpuIds?.length ?? 1) : Math.ceil(world / nodes));
  if (nodes * gpusPerNode <= 1) return undefined;
  const address = config.text("distributed.master_addr") ?? "localhost";
  return {
    nodes,
    gpusPerNode,
    engine: config.text("distributed.strategy")?.toLowerCase() === "megatron" ? "megatron" : "fsdp",
    address: isHost(address) ? address : "localhost",
    port: count(config.number("distributed.master_port")) ?? 29500,
    gpuIds: gpuIds?.join(","),
  };
}

/** Returns the GPUs if the converted config trains on a server: with several GPUs, and without a critic. */
export function serverCluster(config: OldConfig): MrlmCluster | undefined {
  return algorithmOf(config) === "ppo" ? undefined : clusterOf(config);
}

/** Converts a key that has an effect only on several GPUs. */
export const onCluster =
  (convert: (value: Json, cluster: MrlmCluster, config: OldConfig) => Converted) =>
  (value: Json, config: OldConfig): Converted => {
    const cluster = clusterOf(config);
    return cluster === undefined ? {} : convert(value, cluster, config);
  };

/** Returns true for a host name or an address. */
export function isHost(text: string): boolean {
  return /^[\w.:-]+$/.test(text) && URL.canParse(`http://${inUrl(text)}:1`);
}

/** Returns the address of a server on the head node. */
export function serverUrl({ address }: Pick<MrlmCluster, "address">, port: number): string {
  return `http://${inUrl(address === "localhost" ? "127.0.0.1" : address)}:${port}`;
}

function inUrl(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

function count(value: number | undefined): number | undefined {
  return value !== undefined && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}
