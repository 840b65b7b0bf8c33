import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { openCatalog } from "../../../cli/catalog.ts";
import { nestedConfig } from "../../../cli/migrate/convert-config.ts";
import type { Cluster } from "../../../cli/migrate/old-config.ts";
import { migrateConfig } from "../../../cli/migrate-config.ts";
import type { Json } from "../../../src/contract/json.ts";

const catalog = await openCatalog();

/** Converts a GRPO config of MRLM with these sections. */
async function migrated(sections: Readonly<Record<string, Json>>, cluster?: Cluster) {
  const old = {
    training: { algorithm: "grpo", batch_size: 32, ...(sections.training as object) },
    model: { model_name_or_path: "Qwen/Qwen2.5-1.5B-Instruct", ...(sections.model as object) },
    eval_envs: [{ env_type: "math" }],
    distributed: { enabled: true, ...(sections.distributed as object) },
  };
  const options = { name: "old.yaml", to: "new.yaml", cluster, catalog };
  const { converted, yaml } = await migrateConfig({ text: stringify(old), ...options });
  const { server, commands, trainPrefix, lost, idle, served } = converted;
  return {
    config: nestedConfig(converted.set),
    server: Object.fromEntries(server),
    commands,
    trainPrefix,
    lost: Object.fromEntries(lost.map(({ key, reason }) => [key, reason])),
    ...{ idle, served, yaml },
  };
}

const skyrl = (sections: Readonly<Record<string, Json>>) => migrated(sections, "skyrl");

const sharding = (size: number, reshard: boolean) => ({
  "trainer.policy.fsdp_config.fsdp_size": size,
  "trainer.policy.fsdp_config.reshard_after_forward": reshard,
});

describe("the distributed keys of MRLM", () => {
  it("become the PyTorch backend and its commands, on several nodes", async () => {
    const { config, commands, trainPrefix, lost, served, yaml } = await migrated({
      training: {
        ...{ batch_size: 8, num_rollouts_per_iteration: 256, gradient_accumulation_steps: 2, use_bf16: true },
      },
      model: { gradient_checkpointing: true, use_flash_attention: true, temperature: 0.7 },
      distributed: {
        ...{ backend: "nccl", num_gpus: 4, gpu_ids: [0, 1, 2, 3], num_nodes: 3, node_rank: 1, strategy: "fsdp" },
        ...{ master_addr: "10.0.0.1", master_port: 12355, fsdp_sharding_strategy: "full_shard" },
      },
    });
    expect(lost).toEqual({});
    expect(config).toMatchObject({
      sampling: { temperature: 0.7 },
      // 256 episodes in steps of 8 on each of 12 GPUs, twice.
      algorithm: { id: "grpo", minibatches: 2 },
    });
    expect(config.backend).toEqual({
      ...{ type: "torch", processes: 4, nodes: 3, rendezvous: "10.0.0.1:12355", strategy: "fsdp" },
      ...{ precision: "bfloat16", recompute: true },
    });
    expect(served).toEqual(["distributed.gpu_ids"]);
    expect(trainPrefix).toBe("CUDA_VISIBLE_DEVICES=0,1,2,3 ");
    const node = "lyceum torch-node --node 1 --nodes 3 --processes 4 --rendezvous 10.0.0.1:12355";
    expect(commands).toEqual([`${trainPrefix}${node}`]);
    expect(yaml).toContain(`\n#   ${trainPrefix}lyceum train --config new.yaml\n`);
    expect(yaml).toContain(
      `, with --node 1 to 2, which follows the first until the run ends:\n#\n#   ${commands[0]}\n`,
    );
    expect(yaml).toContain("\n#   lyceum setup torch\n");
  });

  it.each<[string, Readonly<Record<string, Json>>, "ddp" | "fsdp"]>([
    ["ddp", {}, "ddp"],
    ["DDP", { fsdp_sharding_strategy: "full_shard", zero_stage: 3 }, "ddp"],
    ["fsdp", {}, "fsdp"],
    ["fsdp2", { fsdp_sharding_strategy: "shard_grad_op", fsdp_cpu_offload: false }, "fsdp"],
    ["fsdp", { fsdp_sharding_strategy: "NO_SHARD" }, "ddp"],
    ["deepspeed", {}, "fsdp"],
    ["deepspeed", { zero_stage: 1 }, "fsdp"],
    ["deepspeed", { zero_stage: "3" }, "fsdp"],
    ["deepspeed", { zero_stage: 0 }, "ddp"],
  ])("%s with %j becomes a strategy, without a command of its own", async (strategy, more, expected) => {
    const { config, commands, lost } = await migrated({ distributed: { num_gpus: 4, strategy, ...more } });
    expect(config.backend).toEqual({ type: "torch", processes: 4, strategy: expected });
    expect([lost, commands]).toEqual([{}, []]);
  });

  it.each<[string, Readonly<Record<string, Json>>, string, string, object]>([
    ["megatron", { strategy: "megatron" }, "strategy", "--cluster skyrl", { strategy: "fsdp" }],
    ["another strategy", { strategy: "horovod" }, "strategy", "deepspeed", { strategy: "fsdp" }],
    [
      "shards within a node",
      { strategy: "fsdp", fsdp_sharding_strategy: "hybrid_shard" },
      ...(["fsdp_sharding_strategy", "--cluster skyrl", { strategy: "fsdp" }] as const),
    ],
    [
      "an unknown sharding",
      { strategy: "fsdp", fsdp_sharding_strategy: "half_shard" },
      ...(["fsdp_sharding_strategy", "no_shard", { strategy: "fsdp" }] as const),
    ],
    ["a stage", { strategy: "deepspeed", zero_stage: 9 }, "zero_stage", "stages 0 to 3", { strategy: "fsdp" }],
    ["offload", { strategy: "fsdp", fsdp_cpu_offload: true }, "fsdp_cpu_offload", "backend.recompute", {}],
    ["a file", { strategy: "deepspeed", deepspeed_config: "z.json" }, "deepspeed_config", "no DeepSpeed", {}],
    ["MPI", { backend: "mpi" }, "backend", "NCCL", {}],
    ["a number", { num_gpus: 0, gpu_ids: [0, 1, 2] }, "num_gpus", "above 0", { processes: 3 }],
    ["nodes", { num_nodes: 1.5 }, "num_nodes", "above 0", { nodes: 1 }],
    ["another number", { world_size: 3 }, "world_size", "give 2 GPUs", { processes: 2 }],
    ["too few GPUs", { num_gpus: 4, gpu_ids: [0, 1] }, "gpu_ids", "2 of the 4", { processes: 4 }],
    ["GPUs as text", { gpu_ids: "a" }, "gpu_ids", "list", {}],
    ["an address", { num_nodes: 2, master_addr: "a b" }, "master_addr", "host", { rendezvous: "HEAD_NODE:29500" }],
    ["a port", { num_nodes: 2, master_port: 70000 }, "master_port", "port", { rendezvous: "HEAD_NODE:29500" }],
  ])("report %s, with a config that trains", async (_, distributed, key, reason, backend) => {
    const { config, lost } = await migrated({ distributed: { num_gpus: 2, ...distributed } });
    expect(lost).toEqual({ [`distributed.${key}`]: expect.stringContaining(reason) });
    expect(config.backend).toMatchObject({ type: "torch", ...backend });
  });

  it("train PPO on several GPUs, because PyTorch has a critic", async () => {
    const { config, lost } = await migrated({ training: { algorithm: "ppo" }, distributed: { num_gpus: 4 } });
    expect(config).toMatchObject({ algorithm: { id: "ppo" }, backend: { type: "torch", processes: 4 } });
    expect(lost).toEqual({});
  });

  const [card, distributed] = [{ device: "cuda" }, { num_gpus: 2 }];
  const alone = { enabled: false };

  it.each<[Readonly<Record<string, Json>>, object, readonly string[]]>([
    [{ training: { use_bf16: true }, model: card, distributed: alone }, { precision: "bfloat16" }, []],
    [{ model: { torch_dtype: "bfloat16" }, distributed }, { precision: "bfloat16" }, []],
    [{ model: { ...card, torch_dtype: "float32" }, distributed: alone }, { precision: "float32" }, []],
    [{ training: { use_fp16: true }, distributed }, { precision: "float16" }, []],
    [{ model: { ...card, load_in_4bit: true, use_lora: true } }, { quantize: 4 }, []],
    [
      { model: { torch_dtype: "float16" }, training: { use_bf16: true }, distributed: { num_gpus: 1 } },
      ...([{ precision: "bfloat16" }, []] as const),
    ],
    [{ model: { ...card, gradient_checkpointing: true }, distributed: alone }, { recompute: true }, []],
  ])("keep the precision and recomputation of %j", async (sections, backend, without) => {
    const { config, lost } = await migrated(sections);
    expect(config.backend).toMatchObject({ type: "torch", ...backend });
    expect(config.model).not.toHaveProperty("precision");
    expect(Object.keys(lost)).toEqual(without);
  });

  it("select PyTorch for a config that names CUDA, and the embedded engine for others", async () => {
    const one = async (model: object, distributed: object = { enabled: false }) =>
      (await migrated({ model: model as Json, distributed: distributed as Json })).config;
    expect(await one({ device: "cuda:1" })).toMatchObject({
      ...{ backend: { type: "torch" }, model: { device: "cuda", deviceIndex: 1 } },
    });
    for (const device of ["cpu", "auto"]) expect(await one({ device })).not.toHaveProperty("backend");
    const { config, trainPrefix } = await migrated({ distributed: { gpu_ids: [2], strategy: "fsdp" } });
    expect(config.backend).toEqual({ type: "torch" });
    expect(trainPrefix).toBe("CUDA_VISIBLE_DEVICES=2 ");
    const several = await migrated({ model: { device: "cuda:1" }, distributed: { num_gpus: 2 } });
    expect(several.config).toMatchObject({ model: { device: "cuda" } });
    expect(several.config.model).not.toHaveProperty("deviceIndex");
    expect(several.lost).toEqual({ "model.device": expect.stringContaining("gpu_ids") });
  });

  it("leave the first node's address open if the file has none, and say so", async () => {
    const { config, commands, yaml } = await migrated({ distributed: { num_gpus: 2, num_nodes: 2 } });
    expect(config.backend).toMatchObject({ rendezvous: "HEAD_NODE:29500" });
    expect(commands[0]).toMatch(/--rendezvous HEAD_NODE:29500$/);
    expect(yaml).toContain("replace HEAD_NODE by the address of the first node");
  });

  it("say what to do if the file has no number of GPUs", async () => {
    const { config, lost } = await migrated({ distributed: { strategy: "fsdp" } });
    expect(config.backend).toEqual({ type: "torch" });
    expect(lost).toEqual({ "distributed.strategy": expect.stringContaining("--nproc_per_node 4 --strategy fsdp") });
  });
});

describe("the distributed keys of MRLM, with --cluster skyrl", () => {
  it("become a server of the Tinker API and its commands, on several nodes", async () => {
    const { config, server, commands, lost, served, yaml } = await skyrl({
      training: {
        ...{ batch_size: 8, num_rollouts_per_iteration: 256, gradient_accumulation_steps: 2, use_bf16: true },
      },
      model: { gradient_checkpointing: false, use_flash_attention: true },
      distributed: {
        ...{ backend: "nccl", num_gpus: 4, gpu_ids: [0, 1, 2, 3], num_nodes: 2, node_rank: 1, strategy: "fsdp" },
        ...{
          master_addr: "10.0.0.1",
          master_port: 12355,
          fsdp_sharding_strategy: "hybrid_shard",
          fsdp_cpu_offload: true,
        },
      },
    });
    expect(lost).toEqual({});
    expect(config).toMatchObject({
      backend: { type: "tinker", url: "http://10.0.0.1:8000" },
      // 256 episodes in steps of 8 on each of 8 GPUs, twice.
      algorithm: { id: "grpo", minibatches: 2 },
    });
    expect(server).toMatchObject({
      "trainer.placement.policy_num_nodes": 2,
      "trainer.placement.policy_num_gpus_per_node": 4,
      "generator.inference_engine.num_engines": 8,
      "trainer.micro_train_batch_size_per_gpu": 8,
      "trainer.micro_forward_batch_size_per_gpu": 8,
      ...sharding(4, true),
      "trainer.policy.fsdp_config.cpu_offload": true,
      "trainer.policy.fsdp_config.mixed_precision.param_dtype": "bf16",
      "generator.inference_engine.model_dtype": "bfloat16",
      "trainer.gradient_checkpointing": false,
      "trainer.flash_attn": true,
    });
    expect(served).toContain("distributed.master_port");
    expect(commands).toEqual([
      "CUDA_VISIBLE_DEVICES=0,1,2,3 uv run --extra tinker --extra fsdp ray start --head --port=12355",
      "CUDA_VISIBLE_DEVICES=0,1,2,3 uv run --extra tinker --extra fsdp ray start --address=10.0.0.1:12355",
      expect.stringMatching(/^uv run --extra tinker --extra fsdp -m skyrl\.tinker\.api --base-model Qwen\/Qwen2\.5-/),
    ]);
    expect(commands[2]).toContain("--backend fsdp --backend-config '{");
    expect(commands[2]).toContain("--host 10.0.0.1 --port 8000");
    for (const command of commands) expect(yaml).toContain(`\n#   ${command}\n`);
  });

  it.each<[string, object, object]>([
    ["ddp", {}, sharding(1, false)],
    ["fsdp", {}, sharding(-1, true)],
    ["fsdp2", { fsdp_sharding_strategy: "shard_grad_op" }, sharding(-1, false)],
    ["fsdp", { fsdp_sharding_strategy: "no_shard" }, sharding(1, false)],
    ["deepspeed", {}, sharding(-1, false)],
    ["deepspeed", { zero_stage: 3 }, sharding(-1, true)],
    ["deepspeed", { zero_stage: 0 }, sharding(1, false)],
    // The key of another strategy has no effect.
    ["ddp", { fsdp_sharding_strategy: "full_shard", zero_stage: 3 }, sharding(1, false)],
  ])("%s with %j becomes the same sharding", async (strategy, more, expected) => {
    const { server, commands, lost } = await skyrl({ distributed: { num_gpus: 4, strategy, ...more } });
    expect(server).toMatchObject(expected);
    expect(lost).toEqual({});
    expect(commands).toEqual([expect.stringContaining("--backend fsdp")]);
  });

  it("select SkyRL's Megatron engine, which always has bfloat16", async () => {
    const { commands, server } = await skyrl({
      training: { use_bf16: true },
      distributed: { num_gpus: 4, strategy: "megatron" },
    });
    expect(commands).toEqual([expect.stringMatching(/--extra megatron .*--backend megatron/)]);
    expect(Object.keys(server).filter((key) => key.includes("fsdp_config"))).toEqual([]);
    expect(server).toMatchObject({ "generator.inference_engine.model_dtype": "bfloat16" });
  });

  it.each<[string, Readonly<Record<string, Json>>, string, string]>([
    ["a backend", { distributed: { num_gpus: 2, backend: "gloo" } }, "distributed.backend", "NCCL"],
    ["a strategy", { distributed: { num_gpus: 2, strategy: "horovod" } }, "distributed.strategy", "deepspeed"],
    [
      "a file",
      { distributed: { num_gpus: 2, deepspeed_config: "z.json" } },
      "distributed.deepspeed_config",
      "zero_stage",
    ],
    [
      "a stage",
      { distributed: { num_gpus: 2, strategy: "deepspeed", zero_stage: 9 } },
      "distributed.zero_stage",
      "shard",
    ],
    ["GPUs as text", { distributed: { num_gpus: 2, gpu_ids: "a" } }, "distributed.gpu_ids", "list"],
    ["an address", { distributed: { num_gpus: 2, master_addr: "a b" } }, "distributed.master_addr", "not a host"],
    ["an unknown key", { distributed: { num_gpus: 2, rails: 4 } }, "distributed.rails", "no known version"],
    ["another number", { distributed: { num_gpus: 2, world_size: 3 } }, "distributed.world_size", "give 2 GPUs"],
    ["float16", { training: { use_fp16: true }, distributed: { num_gpus: 2 } }, "training.use_fp16", "bfloat16"],
    ["float32", { model: { torch_dtype: "float32" }, distributed: { num_gpus: 2 } }, "model.torch_dtype", "bfloat16"],
    [
      "a temperature",
      { model: { temperature: 0.7 }, distributed: { num_gpus: 2 } },
      "model.temperature",
      "temperature 1",
    ],
    [
      "an adapter's alpha",
      { model: { use_lora: true, lora_alpha: 16 }, distributed: { num_gpus: 2 } },
      "model.lora_alpha",
      "servers use 32",
    ],
    ["no number of GPUs", { distributed: { strategy: "fsdp" } }, "distributed.strategy", "set distributed.num_gpus"],
  ])("without a counterpart: %s", async (_, sections, key, reason) => {
    expect((await skyrl(sections)).lost).toEqual({ [key]: expect.stringContaining(reason) });
  });

  it("keep the embedded engine for one GPU, and say that it has no bfloat16", async () => {
    const { config, commands, lost, idle } = await skyrl({
      training: { use_bf16: true, gradient_accumulation_steps: 4 },
      distributed: { num_gpus: 1, num_nodes: 1, strategy: "fsdp", backend: "nccl" },
    });
    expect(config).not.toHaveProperty("backend");
    // 128 episodes in steps of 32, four times.
    expect(config).toMatchObject({ algorithm: { minibatches: 1 }, sampling: { topP: 0.9, topK: 50 } });
    expect(commands).toEqual([]);
    expect(lost).toEqual({ "training.use_bf16": expect.stringContaining("float32") });
    expect(idle).toEqual(
      expect.arrayContaining(["distributed.enabled", "distributed.num_gpus", "distributed.strategy"]),
    );
  });

  it("count the GPUs of all nodes by world_size", async () => {
    const { server, lost } = await skyrl({ distributed: { world_size: 8, num_nodes: 2, strategy: "fsdp" } });
    expect(server).toMatchObject({ "trainer.placement.policy_num_gpus_per_node": 4 });
    expect(lost).toEqual({});
  });

  it("keep PPO on this machine, because servers have no critic, and print the commands for another algorithm", async () => {
    const { config, commands, lost, yaml } = await skyrl({
      training: { algorithm: "ppo" },
      distributed: { num_gpus: 4, strategy: "fsdp" },
    });
    expect(config).not.toHaveProperty("backend");
    expect(config).toMatchObject({ algorithm: { id: "ppo" }, sampling: { topP: 0.9 } });
    expect(lost).toEqual({
      "distributed.enabled": expect.stringContaining("--cluster torch, or change algorithm.id to grpo or rloo"),
    });
    expect(commands).toHaveLength(1);
    expect(yaml).toContain("If you change the algorithm and add backend, first start SkyRL");
  });

  it("leave the address of the head node open if the file has none", async () => {
    const { config, commands } = await skyrl({ distributed: { num_gpus: 2, num_nodes: 2 } });
    expect(config).toMatchObject({ backend: { url: "http://127.0.0.1:8000" } });
    expect(commands[1]).toMatch(/ray start --address=HEAD_NODE:29500$/);
    expect(commands[2]).toContain("--host 127.0.0.1 --port 8000");
  });

  it("quotes names that a shell would read", async () => {
    const { commands } = await skyrl({ model: { model_name_or_path: "it's $HOME" }, distributed: { num_gpus: 2 } });
    expect(commands[0]).toContain(`--base-model 'it'\\''s $HOME'`);
  });
});
