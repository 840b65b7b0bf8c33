import { unknownNameError } from "../../src/contract/errors/index.ts";
import type { Json } from "../../src/contract/json.ts";
import { epochs } from "./epochs.ts";
import { halfPrecisionNote } from "./model-settings.ts";
import { serverGpus, skyrlGpus, torchGpus } from "./mrlm-cluster.ts";
import { mrlmDistributedKeys } from "./mrlm-distributed-keys.ts";
import { mrlmEnvironments } from "./mrlm-environments.ts";
import { mrlmModelKeys } from "./mrlm-model-keys.ts";
import { bfloat16, bfloat16Keys, serverPrecision } from "./mrlm-precision.ts";
import { algorithmOf, forAlgorithms, missing, online } from "./mrlm-run.ts";
import type { OldConfig } from "./old-config.ts";
import type { Converted, OldKey } from "./old-key.ts";

const algorithms = ["ppo", "grpo", "dpo", "sft"];

/** SkyRL's keys for the sequences that a GPU computes at once. */
const microBatches = ["trainer.micro_train_batch_size_per_gpu", "trainer.micro_forward_batch_size_per_gpu"];

const collectedBefore = "SFT trains on a file: create it first with lyceum collect";

/** Creates the row for a key of an algorithm's section that is a setting of the same algorithm. */
function setting(old: string, now: string, value?: Json, keys: readonly string[] = [now]): OldKey {
  const algorithm = old.split(".")[0]!;
  return {
    old,
    now: keys.join(", "),
    ...(value === undefined ? {} : { missing: missing([algorithm], value) }),
    convert: forAlgorithms([algorithm], (given) => ({ set: Object.fromEntries(keys.map((key) => [key, given])) })),
    alone: false,
  };
}

/** The keys of an MRLM config. */
export const mrlmKeys: readonly OldKey[] = [
  { old: "experiment_name", noEffect: true, note: "a run has the name of its folder" },
  { old: "description", noEffect: true },
  { old: "tags", noEffect: true },
  { old: "output_dir", now: "output" },
  { old: "output.save_dir", now: "output" },
  {
    old: "training.algorithm",
    now: "algorithm.id",
    missing: "ppo",
    convert: (value) => {
      const id = String(value).toLowerCase();
      if (!algorithms.includes(id)) throw unknownNameError({ kind: "algorithm of MRLM", name: id, known: algorithms });
      const dpo = { "algorithm.source": "demonstrations", "algorithm.groupSize": 2, "environment.id": "preferences" };
      const sft = { "environment.id": "conversations", "environment.path": "data/trajectories.jsonl" };
      return { set: { "algorithm.id": id, ...(id === "dpo" ? dpo : id === "sft" ? sft : {}) } };
    },
    alone: true,
  },
  {
    old: "eval_envs",
    now: "environment, or environments",
    note: "the training environments; equal entries become one",
    convert: mrlmEnvironments,
  },
  { old: "policy_env", noEffect: true, note: "the trained model is model" },
  {
    old: "dataset.path",
    now: "environment.path",
    note: "preferences and conversations are JSONL or Parquet: one object per line instead of one list",
    convert: forAlgorithms(["dpo", "sft"], (value) => dataFile(String(value))),
  },
  {
    old: "dataset.name",
    now: "environment.path",
    note: "a hub data set",
    convert: forAlgorithms(["dpo", "sft"], (value) => ({ set: { "environment.path": String(value) } })),
  },
  {
    old: "dataset.split",
    now: "tasks.split",
    convert: forAlgorithms(["dpo", "sft"], (split) => ({ set: { "tasks.split": split } })),
  },
  { old: "dataset.type", noEffect: true, note: "the file extension gives the format" },

  ...mrlmModelKeys,

  {
    old: "training.num_epochs",
    now: "training.steps, or training.epochs",
    note: "an epoch of PPO and GRPO is a step here; DPO and SFT pass over a file in epochs",
    missing: (config) => (config.has("training.num_iterations") ? undefined : 100),
    convert: (value, config) =>
      online.includes(algorithmOf(config)) ? { set: { "training.steps": value } } : epochs(value),
  },
  {
    old: "training.num_iterations",
    now: "training.steps, or training.epochs",
    note: "as num_epochs",
    convert: (value, config) => {
      if (online.includes(algorithmOf(config))) return { set: { "training.steps": value } };
      return config.has("training.num_epochs") ? {} : epochs(value);
    },
  },
  ...["num_rollouts_per_iteration", "episodes_per_iteration"].map(
    (name): OldKey => ({
      old: `training.${name}`,
      now: "training.batchSize",
      note: "the episodes of a step; for GRPO, divided by the group size",
      ...(name === "num_rollouts_per_iteration"
        ? {
            missing: (config: OldConfig) =>
              config.has("training.episodes_per_iteration") || !online.includes(algorithmOf(config)) ? undefined : 128,
          }
        : {}),
      convert: (value, config) => {
        if (algorithmOf(config) === "sft") return { lost: collectedBefore };
        if (algorithmOf(config) === "dpo") return {};
        return { set: { "training.batchSize": tasksPerStep(Number(value), config) } };
      },
    }),
  ),
  {
    old: "training.batch_size",
    now: "algorithm.minibatches; training.batchSize with DPO and SFT",
    server: microBatches.join(", "),
    note: "an optimizer step of MRLM uses a part of an iteration's episodes, which is a minibatch here; on several GPUs, it is the part of each GPU",
    missing: 32,
    convert: (value, config) => {
      if (config.number("training.mini_batch_size") !== undefined && online.includes(algorithmOf(config))) return {};
      const note = algorithmOf(config) === "sft" ? { note: "actions there, conversations here" } : {};
      return { set: optimizerStep(Number(value), config), server: microBatch(Number(value), config), ...note };
    },
  },
  {
    old: "training.mini_batch_size",
    now: "algorithm.minibatches",
    server: microBatches.join(", "),
    convert: (value, config) =>
      online.includes(algorithmOf(config))
        ? { set: optimizerStep(Number(value), config), server: microBatch(Number(value), config) }
        : {},
  },
  { old: "training.learning_rate", now: "training.learningRate", missing: 3e-4 },
  { old: "training.max_grad_norm", now: "training.clipNorm", missing: 0.5 },
  { old: "training.optimizer", idle: ["adamw"], note: "the optimizer is AdamW" },
  { old: "training.weight_decay", now: "training.weightDecay", missing: 0.01 },
  { old: "training.adam_beta1", now: "training.beta1" },
  { old: "training.adam_beta2", now: "training.beta2" },
  { old: "training.adam_epsilon", now: "training.epsilon" },
  {
    old: "training.lr_scheduler",
    now: "training.schedule",
    convert: (value) =>
      ["constant", "linear", "cosine"].includes(String(value))
        ? { set: { "training.schedule": value } }
        : { lost: "the supported schedules are constant, linear and cosine" },
    alone: true,
  },
  { old: "training.warmup_steps", now: "training.warmupSteps" },
  {
    old: "training.max_episode_length",
    noEffect: true,
    note: "the environment's maxTurns ends an episode; rollout.limits.turns can end it earlier",
  },
  {
    old: "training.eval_every",
    now: "evaluation.every",
    missing: (config) => (config.has("output.eval_interval") ? undefined : evaluated(config, 10)),
    convert: evaluation("every"),
  },
  { old: "output.eval_interval", now: "evaluation.every", convert: evaluation("every") },
  {
    old: "training.eval_episodes",
    now: "evaluation.limit",
    missing: (config) => evaluated(config, 10),
    convert: evaluation("limit"),
  },
  {
    old: "training.save_every",
    now: "checkpoint.every",
    missing: (config) => (config.has("output.save_interval") ? undefined : 10),
  },
  { old: "output.save_interval", now: "checkpoint.every" },
  { old: "training.checkpoint_dir", noEffect: true, note: "checkpoints are in the run folder" },
  { old: "training.save_total_limit", now: "checkpoint.keep" },
  { old: "training.log_every", noEffect: true, note: "every step is logged" },
  { old: "output.log_interval", noEffect: true, note: "every step is logged" },
  { old: "training.log_dir", noEffect: true, note: "logs are in the run folder" },
  {
    old: "training.use_tensorboard",
    now: "trackers",
    idle: [false],
    convert: (value) => ({ set: { trackers: value === true ? ["tensorboard"] : value } }),
    alone: true,
  },
  { old: "training.wandb_project", now: "trackers", ...weightsAndBiases() },
  { old: "training.wandb_entity", noEffect: true },
  { old: "training.wandb_run_name", noEffect: true },
  { old: "training.seed", now: "seed" },
  {
    old: "training.use_bf16",
    now: "backend.precision",
    server: bfloat16Keys.join(", "),
    idle: [false],
    note: "PyTorch has bfloat16; the embedded engine does not",
    convert: (_, config) => bfloat16(config),
  },
  {
    old: "training.use_fp16",
    now: "backend.precision, model.precision",
    idle: [false],
    note: "the embedded engine trains in float16 on cuda and webgpu, not on a CPU; SkyRL trains in bfloat16",
    convert: (value, config): Converted => {
      if (serverGpus(config) !== undefined) return { lost: serverPrecision };
      if (torchGpus(config) !== undefined) return value === true ? { set: { "backend.precision": "float16" } } : {};
      return { set: { "model.precision": value === true ? "float16" : value }, note: halfPrecisionNote };
    },
    alone: true,
  },
  {
    old: "training.gradient_accumulation_steps",
    now: "algorithm.minibatches, or training.batchSize",
    idle: [1],
    note: "an optimizer step uses that many batches; training.maxTokensPerMicroBatch splits them",
    convert: (value, config) => {
      const size = config.number("training.mini_batch_size") ?? config.number("training.batch_size") ?? 32;
      return Number(value) >= 1 ? { set: optimizerStep(size, config) } : { lost: "it must be at least 1" };
    },
  },

  setting("ppo.clip_range", "algorithm.clipLow", 0.2, ["algorithm.clipLow", "algorithm.clipHigh"]),
  setting("ppo.clip_range_vf", "algorithm.valueClip"),
  setting("ppo.gamma", "algorithm.discount", 0.99),
  setting("ppo.gae_lambda", "algorithm.lambda", 0.95),
  setting("ppo.num_ppo_epochs", "algorithm.epochs", 4),
  setting("ppo.value_loss_coef", "algorithm.valueWeight", 0.5),
  setting("ppo.entropy_coef", "algorithm.entropyWeight", 0.01),
  setting("ppo.target_kl", "algorithm.targetKl"),
  setting("ppo.normalize_advantages", "algorithm.whiten", true),

  setting("grpo.group_size", "algorithm.groupSize", 4),
  setting("grpo.clip_range", "algorithm.clipLow", undefined, ["algorithm.clipLow", "algorithm.clipHigh"]),
  setting("grpo.gamma", "algorithm.discount", 0.99),
  setting("grpo.num_grpo_epochs", "algorithm.epochs"),
  setting("grpo.entropy_coef", "algorithm.entropyWeight"),
  setting("grpo.target_kl", "algorithm.targetKl"),
  {
    old: "grpo.normalize_rewards",
    now: "algorithm.advantage",
    idle: [true],
    note: "false: group-mean, without the standard deviation",
    convert: forAlgorithms(["grpo"], (value) => ({
      set: { "algorithm.advantage": value === false ? "group-mean" : value },
    })),
  },
  {
    old: "grpo.reward_normalization",
    now: "algorithm.advantage, algorithm.whiten",
    idle: ["group"],
    note: "batch: group-mean and whiten",
    convert: forAlgorithms(["grpo"], (value) =>
      value === "batch"
        ? { set: { "algorithm.advantage": "group-mean", "algorithm.whiten": true } }
        : { lost: "advantages are normalized within a group or a batch, without running statistics" },
    ),
  },
  {
    old: "grpo.temperature",
    now: "sampling.temperature",
    idle: [1],
    convert: forAlgorithms(["grpo"], (value) => ({ set: { "sampling.temperature": value } })),
  },
  { old: "grpo.gae_lambda", noEffect: true, note: "GRPO has no critic" },
  { old: "grpo.value_loss_coef", note: "GRPO has no critic; ppo has one" },
  { old: "grpo.value_clip_range", note: "GRPO has no critic; ppo has one" },

  setting("dpo.beta", "algorithm.beta", 0.1),
  setting("dpo.label_smoothing", "algorithm.labelSmoothing"),
  setting("dpo.reference_free", "algorithm.referenceFree"),
  setting("dpo.loss_type", "algorithm.form"),

  {
    old: "sft.mode",
    now: "algorithm.actionWeight, algorithm.observationWeight",
    missing: missing(["sft"], "combined"),
    convert: forAlgorithms(["sft"], (value, config) => {
      const modes = ["behavioral_cloning", "world_model", "combined"];
      if (!modes.includes(String(value))) return { lost: `the modes are ${modes.join(", ")}` };
      const [actions, observations] =
        value === "behavioral_cloning"
          ? [1, 0]
          : value === "world_model"
            ? [0, 1]
            : [config.number("sft.bc_weight") ?? 0.5, config.number("sft.world_model_weight") ?? 0.5];
      return { set: { "algorithm.actionWeight": actions!, "algorithm.observationWeight": observations! } };
    }),
  },
  { old: "sft.bc_weight", now: "algorithm.actionWeight", note: "in the mode combined", partOf: "sft.mode" },
  {
    old: "sft.world_model_weight",
    now: "algorithm.observationWeight",
    note: "in the mode combined",
    partOf: "sft.mode",
  },
  { old: "sft.filter_low_reward", now: "environment.minReward", idle: [false], partOf: "sft.min_reward_threshold" },
  {
    old: "sft.min_reward_threshold",
    now: "environment.minReward",
    convert: forAlgorithms(["sft"], (value, config) =>
      config.get("sft.filter_low_reward") === true ? { set: { "environment.minReward": value } } : {},
    ),
  },
  { old: "sft.collect_every", note: collectedBefore },
  { old: "sft.max_trajectories", note: "use lyceum collect --episodes" },
  ...mrlmDistributedKeys,
  { old: "distributed", note: "no known version of the program reads it" },
];

/** Converts the path of a data file. Lyceum reads one object per line. */
function dataFile(path: string): Converted {
  if (!path.endsWith(".json")) return { set: { "environment.path": path } };
  return { set: { "environment.path": `${path}l` }, note: `one object per line: jq -c '.[]' ${path} > ${path}l` };
}

function tasksPerStep(episodes: number, config: OldConfig): number {
  const group = algorithmOf(config) === "grpo" ? (config.number("grpo.group_size") ?? 4) : 1;
  return Math.max(1, Math.round(episodes / group));
}

/** Returns the size of an optimizer step: `size` episodes or rows of each GPU, times the accumulation. */
function optimizerStep(size: number, config: OldConfig): NonNullable<Converted["set"]> {
  const { nodes, gpusPerNode } = torchGpus(config) ?? serverGpus(config) ?? { nodes: 1, gpusPerNode: 1 };
  const whole = size * nodes * gpusPerNode * Math.max(1, config.number("training.gradient_accumulation_steps") ?? 1);
  if (!online.includes(algorithmOf(config))) return { "training.batchSize": whole };
  if (!(whole > 0)) return {};
  const episodes =
    config.number("training.episodes_per_iteration") ?? config.number("training.num_rollouts_per_iteration") ?? 128;
  return { "algorithm.minibatches": Math.max(1, Math.ceil(episodes / whole)) };
}

/** Returns what each GPU computes at once: a batch, before the accumulation. */
function microBatch(size: number, config: OldConfig): NonNullable<Converted["server"]> {
  if (skyrlGpus(config) === undefined || !(size > 0)) return {};
  return Object.fromEntries(microBatches.map((key) => [key, size]));
}

function evaluated(config: OldConfig, value: Json): Json | undefined {
  return online.includes(algorithmOf(config)) && config.has("eval_envs") ? value : undefined;
}

function evaluation(key: string): NonNullable<OldKey["convert"]> {
  return forAlgorithms(online, (value) => ({ set: { [`evaluation.${key}`]: value } }));
}

function weightsAndBiases(): Pick<OldKey, "note" | "convert" | "alone"> {
  return {
    note: "there is no tracker for Weights & Biases; `wandb sync` reads the files of tensorboard",
    convert: (value) => ({
      set: { trackers: ["tensorboard"] },
      lost: `there is no tracker for Weights & Biases; \`wandb sync\` reads the files of tensorboard (project ${String(value)})`,
    }),
  };
}
