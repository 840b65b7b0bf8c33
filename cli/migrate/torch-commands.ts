import { type MrlmGpus, rendezvous } from "./mrlm-cluster.ts";

/** Why the strategy megatron is lost. */
export const noMegatron =
  "PyTorch here has no tensor or pipeline parallelism: strategy fsdp shards layers instead; SkyRL has Megatron (lyceum migrate --cluster skyrl)";

/** Returns what selects the GPUs of a command. */
export function visibleDevices(gpuIds: string | undefined): string {
  return gpuIds === undefined ? "" : `CUDA_VISIBLE_DEVICES=${gpuIds} `;
}

/** Returns the command of each node but the first, if there are several. */
export function torchNodeCommands(gpus: MrlmGpus): readonly string[] {
  const { nodes, gpusPerNode, gpuIds } = gpus;
  if (nodes === 1) return [];
  const place = `--node 1 --nodes ${nodes} --processes ${gpusPerNode} --rendezvous ${rendezvous(gpus)}`;
  return [`${visibleDevices(gpuIds)}lyceum torch-node ${place}`];
}
