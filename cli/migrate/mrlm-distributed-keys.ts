import type { Json } from "../../src/contract/json.ts";
import {
  isHost,
  isPort,
  type MrlmGpus,
  onGpus,
  rendezvous,
  serverUrl,
  severalGpus,
  skyrlEngine,
  skyrlGpus,
  torchGpus,
} from "./mrlm-cluster.ts";
import { algorithmOf } from "./mrlm-run.ts";
import type { OldConfig } from "./old-config.ts";
import type { Converted, OldKey } from "./old-key.ts";
import { serverPort } from "./skyrl-commands.ts";
import { noMegatron } from "./torch-commands.ts";

const sharding = ["trainer.policy.fsdp_config.fsdp_size", "trainer.policy.fsdp_config.reshard_after_forward"];

/**
 * The keys of MRLM's `distributed` section. They become the PyTorch backend, or with `--cluster skyrl` and several GPUs
 * the start command of a SkyRL server, whose keys are those of SkyRL 0.3.0.
 */
export const mrlmDistributedKeys: readonly OldKey[] = [
  {
    old: "distributed.enabled",
    now: "backend.type, backend.url",
    note: "torch. With --cluster skyrl and several GPUs: tinker, and migrate prints the command of a SkyRL server",
    convert: onGpus({
      torch: () => ({ set: { "backend.type": "torch" } }),
      skyrl: (_, gpus, config) =>
        algorithmOf(config) === "ppo"
          ? {
              lost: "PPO needs a critic, which servers of the Tinker API do not have, so the config trains on this machine: convert it with --cluster torch, or change algorithm.id to grpo or rloo, and add backend (docs/clusters.md)",
            }
          : { set: { "backend.type": "tinker", "backend.url": serverUrl(gpus, serverPort) } },
    }),
  },
  {
    old: "distributed.backend",
    idle: ["nccl"],
    note: "PyTorch and SkyRL exchange data by NCCL; PyTorch on CPUs by gloo",
    convert: onGpus({
      torch: (value) => (value === "gloo" ? {} : { lost: "PyTorch exchanges data by NCCL, and on CPUs by gloo" }),
      skyrl: () => ({ lost: "SkyRL's workers exchange data by NCCL" }),
    }),
  },
  {
    old: "distributed.num_gpus",
    now: "backend.processes",
    server: "trainer.placement.policy_num_gpus_per_node, generator.inference_engine.num_engines",
    note: "the GPUs of each node; each GPU trains and samples",
    missing: (config) => severalGpus(config)?.gpusPerNode,
    convert: onGpus({
      torch: (value, { gpusPerNode }) => ({
        set: { "backend.processes": gpusPerNode },
        ...(value === gpusPerNode ? {} : { lost: "it must be a whole number above 0" }),
      }),
      skyrl: (_, { nodes, gpusPerNode }) => ({
        server: {
          "trainer.placement.policy_num_gpus_per_node": gpusPerNode,
          "generator.inference_engine.num_engines": nodes * gpusPerNode,
        },
      }),
    }),
  },
  {
    old: "distributed.world_size",
    now: "backend.processes",
    server: "trainer.placement.policy_num_gpus_per_node",
    note: "the GPUs of all nodes, if num_gpus is absent",
    convert: onGpus({
      torch: (value, { nodes, gpusPerNode }) =>
        value === nodes * gpusPerNode
          ? { set: { "backend.processes": gpusPerNode } }
          : { lost: `num_gpus and num_nodes give ${nodes * gpusPerNode} GPUs` },
      skyrl: (value, { nodes, gpusPerNode }) =>
        value === nodes * gpusPerNode
          ? { server: { "trainer.placement.policy_num_gpus_per_node": gpusPerNode } }
          : { lost: `num_gpus and num_nodes give ${nodes * gpusPerNode} GPUs` },
    }),
  },
  {
    old: "distributed.gpu_ids",
    server: "CUDA_VISIBLE_DEVICES",
    note: "in the printed commands, also for PyTorch",
    convert: onGpus({ torch: visibleDevices, skyrl: visibleDevices }),
  },
  {
    old: "distributed.num_nodes",
    now: "backend.nodes",
    server: "trainer.placement.policy_num_nodes",
    note: "with PyTorch, lyceum torch-node runs on each node but the first",
    convert: onGpus({
      torch: (value, { nodes }) => ({
        set: { "backend.nodes": nodes },
        ...(value === nodes ? {} : { lost: "it must be a whole number above 0" }),
      }),
      skyrl: (_, { nodes }) => ({ server: { "trainer.placement.policy_num_nodes": nodes } }),
    }),
  },
  {
    old: "distributed.node_rank",
    noEffect: true,
    note: "lyceum train, or ray start --head, runs on the first node",
  },
  {
    old: "distributed.master_addr",
    now: "backend.rendezvous, backend.url",
    note: "the first node, if there are several: PyTorch's processes meet there, or SkyRL's server and Ray's head node run there",
    missing: (config) => ((torchGpus(config)?.nodes ?? 1) > 1 ? "localhost" : undefined),
    convert: onGpus({
      torch: (value, gpus) => ({
        ...(gpus.nodes === 1 ? {} : meetingPlace(gpus)),
        ...(isHost(String(value)) ? {} : { lost: "it is not a host" }),
      }),
      skyrl: (value, { address }) =>
        isHost(String(value)) ? { server: { "ray start --address": address } } : { lost: "it is not a host" },
    }),
  },
  {
    old: "distributed.master_port",
    now: "backend.rendezvous",
    server: "ray start --port",
    convert: (value, config) =>
      isPort(value) || (torchGpus(config) ?? skyrlGpus(config)) === undefined
        ? meetingPort(value, config)
        : { lost: "it is not a port" },
  },
  {
    old: "distributed.strategy",
    now: "backend.strategy",
    server: ["--backend", ...sharding].join(", "),
    note: "PyTorch: ddp, or fsdp for fsdp, fsdp2 and deepspeed. SkyRL: ddp becomes fsdp without sharding; deepspeed becomes fsdp with the sharding of its stage; fsdp2 and megatron are supported",
    missing: (config) => (severalGpus(config) === undefined ? undefined : "ddp"),
    convert: (value, config) => {
      if (severalGpus(config) !== undefined) return severalStrategies(String(value).toLowerCase(), config);
      const silent = !config.has("distributed.num_gpus") && !config.has("distributed.world_size");
      return config.get("distributed.enabled") === true && silent && !config.has("distributed.gpu_ids")
        ? {
            lost: "the file does not say how many GPUs there are: set distributed.num_gpus, and convert it again, or add the flags of torchrun to lyceum train, such as --nproc_per_node 4 --strategy fsdp",
          }
        : {};
    },
  },
  {
    old: "distributed.fsdp_sharding_strategy",
    now: "backend.strategy",
    server: sharding.join(", "),
    note: "no_shard is ddp. PyTorch here shards weights, gradients and moments over all processes, as full_shard does",
    convert: (value, config) =>
      ["fsdp", "fsdp2"].includes(config.text("distributed.strategy")?.toLowerCase() ?? "ddp")
        ? shardsOf(String(value).toLowerCase(), config)
        : {},
  },
  {
    old: "distributed.fsdp_cpu_offload",
    server: "trainer.policy.fsdp_config.cpu_offload",
    convert: onGpus({
      torch: (value) =>
        value === false
          ? {}
          : {
              lost: "weights stay on the cards: use more processes with strategy fsdp, an adapter or backend.recompute, or convert it with --cluster skyrl",
            },
      skyrl: (value, gpus) =>
        skyrlEngine(gpus) === "fsdp" && typeof value === "boolean"
          ? { server: { "trainer.policy.fsdp_config.cpu_offload": value } }
          : { lost: "it needs the strategy fsdp, and must be true or false" },
    }),
  },
  {
    old: "distributed.zero_stage",
    now: "backend.strategy",
    server: sharding.join(", "),
    note: "PyTorch: ddp for stage 0, fsdp for the others",
    convert: (value, config) =>
      config.text("distributed.strategy")?.toLowerCase() === "deepspeed"
        ? shardsOf(
            { 0: "no_shard", 1: "shard_grad_op", 2: "shard_grad_op", 3: "full_shard" }[String(value)] ?? "",
            config,
          )
        : {},
  },
  {
    old: "distributed.deepspeed_config",
    note: "there is no DeepSpeed: backend.strategy fsdp, or SkyRL's sharding by zero_stage and fsdp_cpu_offload",
    convert: onGpus({
      torch: () => ({ lost: "there is no DeepSpeed: backend.strategy fsdp shards weights, gradients and moments" }),
      skyrl: () => ({ lost: "SkyRL has no DeepSpeed: zero_stage and fsdp_cpu_offload select the same sharding" }),
    }),
  },
];

function visibleDevices(_: Json, { gpuIds, gpusPerNode }: MrlmGpus): Converted {
  if (gpuIds === undefined) return { lost: "it must be a list of GPU numbers" };
  const count = gpuIds.split(",").length;
  return count < gpusPerNode
    ? { lost: `it names ${count} of the ${gpusPerNode} GPUs of a node` }
    : { server: { CUDA_VISIBLE_DEVICES: gpuIds } };
}

function meetingPlace(gpus: MrlmGpus): Converted {
  return {
    set: { "backend.rendezvous": rendezvous(gpus) },
    ...(gpus.address === "localhost" ? { note: "replace HEAD_NODE by the address of the first node" } : {}),
  };
}

function meetingPort(value: Json, config: OldConfig): Converted {
  const gpus = torchGpus(config);
  if (gpus !== undefined) return gpus.nodes === 1 ? {} : meetingPlace(gpus);
  return skyrlGpus(config) === undefined ? {} : { server: { "ray start --port": value } };
}

/** Converts the strategy. The rows of sharding and of ZeRO stages come later and replace its sharding. */
function severalStrategies(name: string, config: OldConfig): Converted {
  const known = { ddp: "no_shard", fsdp: "full_shard", fsdp2: "full_shard", deepspeed: "shard_grad_op" }[name];
  if (known !== undefined) return shardsOf(known, config);
  const megatron = name === "megatron";
  if (megatron && skyrlGpus(config) !== undefined) return { server: { "--backend": "megatron" } };
  return {
    lost: megatron ? noMegatron : "the strategies are ddp, fsdp, fsdp2, deepspeed and megatron",
    ...shardsOf("full_shard", config),
  };
}

/** Converts the name of a PyTorch sharding strategy, if there are several GPUs. */
function shardsOf(name: string, config: OldConfig): Converted {
  const gpus = severalGpus(config);
  if (gpus === undefined) return {};
  const known = { full_shard: [-1, true], shard_grad_op: [-1, false], no_shard: [1, false] } as const;
  const hybrid = [gpus.gpusPerNode, true] as const;
  const found = { ...known, hybrid_shard: hybrid }[name];
  if (found === undefined) {
    return {
      lost: `the sharding strategies are ${Object.keys(known).join(", ")} and hybrid_shard, and the stages 0 to 3`,
    };
  }
  const [size, reshard] = found;
  if (torchGpus(config) !== undefined) {
    return {
      set: { "backend.strategy": size === 1 ? "ddp" : "fsdp" },
      ...(found === hybrid
        ? { lost: "weights are sharded over all processes: convert it with --cluster skyrl to shard within a node" }
        : {}),
    };
  }
  return { server: { "--backend": "fsdp", [sharding[0]!]: size, [sharding[1]!]: reshard } };
}
