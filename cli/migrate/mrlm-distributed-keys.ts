import { clusterOf, isHost, type MrlmCluster, onCluster, serverUrl } from "./mrlm-cluster.ts";
import { algorithmOf } from "./mrlm-run.ts";
import type { Converted, OldKey } from "./old-key.ts";
import { serverPort } from "./skyrl-commands.ts";

const sharding = ["trainer.policy.fsdp_config.fsdp_size", "trainer.policy.fsdp_config.reshard_after_forward"];

/**
 * The keys of MRLM's `distributed` section. With several GPUs they become the start command of a SkyRL server, whose
 * keys are those of SkyRL 0.3.0. With one GPU they have no effect.
 */
export const mrlmDistributedKeys: readonly OldKey[] = [
  {
    old: "distributed.enabled",
    now: "backend.type, backend.url",
    note: "with several GPUs, backend.type is tinker, and migrate prints the command of a SkyRL server",
    convert: onCluster((_, cluster, config) =>
      algorithmOf(config) === "ppo"
        ? {
            lost: "PPO needs a critic, which servers of the Tinker API do not have, so the config trains on this machine: for a server, change algorithm.id to grpo or rloo, and add backend (docs/clusters.md)",
          }
        : { set: { "backend.type": "tinker", "backend.url": serverUrl(cluster, serverPort) } },
    ),
  },
  {
    old: "distributed.backend",
    idle: ["nccl"],
    note: "SkyRL's workers exchange data by NCCL",
    convert: onCluster(() => ({ lost: "SkyRL's workers exchange data by NCCL" })),
  },
  {
    old: "distributed.num_gpus",
    server: "trainer.placement.policy_num_gpus_per_node, generator.inference_engine.num_engines",
    note: "the GPUs of each node; each GPU trains and samples",
    missing: (config) => clusterOf(config)?.gpusPerNode,
    convert: onCluster((_, { nodes, gpusPerNode }) => ({
      server: {
        "trainer.placement.policy_num_gpus_per_node": gpusPerNode,
        "generator.inference_engine.num_engines": nodes * gpusPerNode,
      },
    })),
  },
  {
    old: "distributed.world_size",
    server: "trainer.placement.policy_num_gpus_per_node",
    note: "the GPUs of all nodes, if num_gpus is absent",
    convert: onCluster((value, { nodes, gpusPerNode }) =>
      value === nodes * gpusPerNode
        ? { server: { "trainer.placement.policy_num_gpus_per_node": gpusPerNode } }
        : { lost: `num_gpus and num_nodes give ${nodes * gpusPerNode} GPUs` },
    ),
  },
  {
    old: "distributed.gpu_ids",
    server: "CUDA_VISIBLE_DEVICES",
    convert: onCluster((_, { gpuIds }) =>
      gpuIds === undefined
        ? { lost: "it must be a list of GPU numbers" }
        : { server: { CUDA_VISIBLE_DEVICES: gpuIds } },
    ),
  },
  {
    old: "distributed.num_nodes",
    server: "trainer.placement.policy_num_nodes",
    convert: onCluster((_, { nodes }) => ({ server: { "trainer.placement.policy_num_nodes": nodes } })),
  },
  { old: "distributed.node_rank", noEffect: true, note: "the command ray start --head is for the first node" },
  {
    old: "distributed.master_addr",
    now: "backend.url",
    note: "the address of the server and of Ray's head node",
    convert: onCluster((value, cluster) =>
      isHost(String(value)) ? { server: { "ray start --address": cluster.address } } : { lost: "it is not a host" },
    ),
  },
  {
    old: "distributed.master_port",
    server: "ray start --port",
    convert: onCluster((_, { port }) => ({ server: { "ray start --port": port } })),
  },
  {
    old: "distributed.strategy",
    server: ["--backend", ...sharding].join(", "),
    note: "ddp becomes fsdp without sharding; deepspeed becomes fsdp with the sharding of its stage; fsdp2 and megatron are supported",
    missing: (config) => (clusterOf(config) === undefined ? undefined : "ddp"),
    convert: (value, config) => {
      const cluster = clusterOf(config);
      if (cluster !== undefined) return strategy(String(value).toLowerCase(), cluster);
      const silent = !config.has("distributed.num_gpus") && !config.has("distributed.world_size");
      return config.get("distributed.enabled") === true && silent
        ? { lost: "the file does not say how many GPUs there are: set distributed.num_gpus, and convert it again" }
        : {};
    },
  },
  {
    old: "distributed.fsdp_sharding_strategy",
    server: sharding.join(", "),
    convert: onCluster((value, cluster, config) =>
      ["fsdp", "fsdp2"].includes(config.text("distributed.strategy")?.toLowerCase() ?? "ddp")
        ? shards(String(value).toLowerCase(), cluster)
        : {},
    ),
  },
  {
    old: "distributed.fsdp_cpu_offload",
    server: "trainer.policy.fsdp_config.cpu_offload",
    convert: onCluster((value, { engine }) =>
      engine === "fsdp" && typeof value === "boolean"
        ? { server: { "trainer.policy.fsdp_config.cpu_offload": value } }
        : { lost: "it needs the strategy fsdp, and must be true or false" },
    ),
  },
  {
    old: "distributed.zero_stage",
    server: sharding.join(", "),
    convert: onCluster((value, cluster, config) =>
      config.text("distributed.strategy")?.toLowerCase() === "deepspeed"
        ? shards(
            { 0: "no_shard", 1: "shard_grad_op", 2: "shard_grad_op", 3: "full_shard" }[String(value)] ?? "",
            cluster,
          )
        : {},
    ),
  },
  {
    old: "distributed.deepspeed_config",
    note: "SkyRL has no DeepSpeed: zero_stage and fsdp_cpu_offload select the same sharding",
    convert: onCluster(() => ({
      lost: "SkyRL has no DeepSpeed: zero_stage and fsdp_cpu_offload select the same sharding",
    })),
  },
];

/** Converts the strategy. The rows of sharding and of ZeRO stages come later and replace its sharding. */
function strategy(name: string, cluster: MrlmCluster): Converted {
  switch (name) {
    case "ddp":
      return shards("no_shard", cluster);
    case "fsdp":
    case "fsdp2":
      return shards("full_shard", cluster);
    case "deepspeed":
      // Its default stage is 2.
      return shards("shard_grad_op", cluster);
    case "megatron":
      return { server: { "--backend": "megatron" } };
    default:
      return { lost: "the strategies are ddp, fsdp, fsdp2, deepspeed and megatron", ...shards("full_shard", cluster) };
  }
}

/** Converts the name of a PyTorch sharding strategy to the settings of SkyRL's FSDP. */
function shards(name: string, { gpusPerNode }: MrlmCluster): Converted {
  const sizes: Readonly<Record<string, readonly [size: number, reshard: boolean]>> = {
    full_shard: [-1, true],
    shard_grad_op: [-1, false],
    no_shard: [1, false],
    hybrid_shard: [gpusPerNode, true],
  };
  const found = sizes[name];
  if (found === undefined) return { lost: `the sharding strategies are ${Object.keys(sizes).join(", ")}` };
  const [size, reshard] = found;
  return { server: { "--backend": "fsdp", [sharding[0]!]: size, [sharding[1]!]: reshard } };
}
