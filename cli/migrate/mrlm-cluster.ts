import type { Json } from "../../src/contract/json.ts";
import { algorithmOf } from "./mrlm-run.ts";
import type { OldConfig } from "./old-config.ts";
import type { Converted } from "./old-key.ts";

/** The GPUs that an MRLM config trains on. */
export interface MrlmGpus {
  readonly nodes: number;
  readonly gpusPerNode: number;
  /** The first node. `localhost` if the config does not say it. */
  readonly address: string;
  /** The port at which the nodes meet. */
  readonly port: number;
  /** The indices of the GPUs to use, as CUDA_VISIBLE_DEVICES. All if undefined. */
  readonly gpuIds: string | undefined;
  /** The strategy in lower case. */
  readonly strategy: string;
}

/** Returns the GPUs of a config with distributed training, even if it is only one. Returns undefined without it. */
function gpusOf(config: OldConfig): MrlmGpus | undefined {
  if (config.get("distributed.enabled") !== true) return undefined;
  const nodes = count(config.number("distributed.num_nodes")) ?? 1;
  const world = count(config.number("distributed.world_size"));
  const ids = config.get("distributed.gpu_ids");
  const gpuIds = Array.isArray(ids) && ids.length > 0 && ids.every(Number.isSafeInteger) ? ids : undefined;
  const gpusPerNode =
    count(config.number("distributed.num_gpus")) ??
    (world === undefined ? (gpuIds?.length ?? 1) : Math.ceil(world / nodes));
  const address = config.text("distributed.master_addr") ?? "localhost";
  const port = count(config.number("distributed.master_port")) ?? defaultPort;
  return {
    nodes,
    gpusPerNode,
    address: isHost(address) ? address : "localhost",
    port: isPort(port) ? port : defaultPort,
    gpuIds: gpuIds?.join(","),
    strategy: config.text("distributed.strategy")?.toLowerCase() ?? "ddp",
  };
}

const defaultPort = 29_500;

/** Returns the GPUs of a config if there are several. */
export function severalGpus(config: OldConfig): MrlmGpus | undefined {
  const gpus = gpusOf(config);
  return gpus !== undefined && gpus.nodes * gpus.gpusPerNode > 1 ? gpus : undefined;
}

/**
 * Returns the GPUs if PyTorch trains the converted config: it names CUDA or has distributed training. Such a config
 * trained by PyTorch on a card before, with bfloat16 and recomputation, which the embedded engine does not have. Other
 * configs train on the embedded engine, which needs no Python.
 */
export function torchGpus(config: OldConfig): MrlmGpus | undefined {
  if (config.cluster !== "torch" || config.alone) return undefined;
  const gpus = gpusOf(config);
  if (gpus !== undefined) return gpus;
  if (!/^cuda(:\d+)?$/.test(config.text("model.device") ?? "")) return undefined;
  return { nodes: 1, gpusPerNode: 1, address: "localhost", port: defaultPort, gpuIds: undefined, strategy: "ddp" };
}

/** Returns the GPUs of the commands of a SkyRL server, if the config has several and SkyRL is wanted. */
export function skyrlGpus(config: OldConfig): MrlmGpus | undefined {
  return config.cluster === "skyrl" ? severalGpus(config) : undefined;
}

/** Returns {@link skyrlGpus} if the converted config trains on the server. PPO does not, because it needs a critic. */
export function serverGpus(config: OldConfig): MrlmGpus | undefined {
  return algorithmOf(config) === "ppo" ? undefined : skyrlGpus(config);
}

/** Converts a key that has an effect only on GPUs: one way for PyTorch, another for several GPUs with SkyRL. */
export const onGpus =
  (by: Readonly<Record<OldConfig["cluster"], (value: Json, gpus: MrlmGpus, config: OldConfig) => Converted>>) =>
  (value: Json, config: OldConfig): Converted => {
    const gpus = config.cluster === "torch" ? torchGpus(config) : skyrlGpus(config);
    return gpus === undefined ? {} : by[config.cluster](value, gpus, config);
  };

/** The engine of SkyRL that trains. */
export function skyrlEngine({ strategy }: MrlmGpus): "fsdp" | "megatron" {
  return strategy === "megatron" ? "megatron" : "fsdp";
}

/** Returns true for a host name or an address. */
export function isHost(text: string): boolean {
  return /^[\w.:-]+$/.test(text) && URL.canParse(`http://${inUrl(text)}:1`);
}

/** Returns true for the number of a port. */
export function isPort(value: Json): boolean {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 && value < 65_536;
}

/** Returns the address of a server on the first node. */
export function serverUrl({ address }: Pick<MrlmGpus, "address">, port: number): string {
  return `http://${inUrl(address === "localhost" ? "127.0.0.1" : address)}:${port}`;
}

/** Returns the address and port at which PyTorch's processes of several nodes meet. */
export function rendezvous({ address, port }: Pick<MrlmGpus, "address" | "port">): string {
  return `${address === "localhost" ? "HEAD_NODE" : inUrl(address)}:${port}`;
}

function inUrl(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

function count(value: number | undefined): number | undefined {
  return value !== undefined && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}
