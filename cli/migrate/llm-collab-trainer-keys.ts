import type { Json } from "../../src/contract/json.ts";
import { epochs } from "./epochs.ts";
import { datasetOf, splitSize } from "./llm-collab-dataset.ts";
import {
  agentNames,
  algorithmName,
  bufferSize,
  groupSize,
  handsOnGroups,
  hasCritic,
  hasGroups,
  hasOneTurn,
  isPreference,
  keepsConversation,
  processing,
  tasksPerStep,
  turnsOf,
  usesHandoff,
} from "./llm-collab-run.ts";
import type { OldConfig } from "./old-config.ts";
import type { Converted, OldKey } from "./old-key.ts";
import { preferenceKeys, rewardModelReason } from "./preference-keys.ts";
import { trainerSections } from "./trainer-sections.ts";

/** Converts a key that only group-based algorithms have, not those with critics or preferences. */
const ofGroups =
  (key: string) =>
  (value: Json, config: OldConfig): Converted =>
    hasGroups(config) ? { set: { [key]: value } } : {};

const ofCritics =
  (key: string) =>
  (value: Json, config: OldConfig): Converted =>
    hasCritic(config) ? { set: { [key]: value } } : {};

/** The keys of a trainer section: the fields of MAGRPOConfig, IACConfig, MAACConfig, MADPOConfig and MARLHFConfig. */
export const llmCollabTrainerKeys: readonly OldKey[] = [
  { old: "*", now: "algorithm.id", note: "from the name of the section", convert: algorithm },
  {
    old: "*.num_agents",
    now: "environment.agents",
    note: "writing has two; if one model plays both: agents.weights: shared",
    missing: (config) => agentNames(config).length,
    convert: numberOfAgents,
  },
  {
    old: "*.num_turns",
    now: "environment.maxTurns",
    note: "above 1, every turn has a reward (environment.rewardEveryTurn) and shows only the latest feedback (environment.history)",
    convert: numberOfTurns,
    alone: true,
  },
  {
    old: "*.num_train_epochs",
    now: "training.steps, or training.epochs",
    note: "passes over tasks.split with training.batchSize tasks per step; converted to steps if the number of tasks is known",
    missing: (config) => (turnsOf(config) > 1 ? 7 : 10),
    convert: passes,
  },
  ...["lr", "learning_rate", "agent_learning_rate", "actor_learning_rate"].map(
    (name): OldKey => ({ old: `*.${name}`, now: "training.learningRate", alone: true }),
  ),
  {
    old: "*.critic_learning_rate",
    now: "algorithm.criticLearningRateScale",
    note: "a multiple of the policy's learning rate",
    convert: (value, config) => {
      const own = config.number("*.agent_learning_rate") ?? config.number("*.actor_learning_rate");
      return own === undefined || !hasCritic(config) || own === value
        ? {}
        : { set: { "algorithm.criticLearningRateScale": Number((Number(value) / own).toPrecision(6)) } };
    },
  },
  { old: "*.weight_decay", now: "training.weightDecay", alone: true },
  { old: "*.adam_beta1", now: "training.beta1", alone: true },
  { old: "*.adam_beta2", now: "training.beta2", alone: true },
  { old: "*.adam_epsilon", now: "training.epsilon", alone: true },
  { old: "*.max_grad_norm", now: "training.clipNorm", alone: true },
  {
    old: "*.rollout_buffer_size",
    now: "training.batchSize",
    note: "completions of one agent there, tasks here: divided by the nodes of a tree of turns",
    missing: bufferSize,
    convert: (value, config) => ({
      set: { "training.batchSize": typeof value === "number" ? tasksPerStep(config) : value },
    }),
  },
  ...["train_batch_size", "mini_batch_size"].map(
    (name): OldKey => ({
      old: `*.${name}`,
      now: "algorithm.minibatches",
      note: "the buffer divided by it",
      convert: (value, config) => {
        const parts = Math.ceil(bufferSize(config) / Number(value));
        return parts > 1 && parts <= tasksPerStep(config) ? { set: { "algorithm.minibatches": parts } } : {};
      },
    }),
  ),
  { old: "*.per_device_train_batch_size", idle: [1], note: "training.batchSize is the number of tasks per step" },
  { old: "*.ac_epochs", now: "algorithm.epochs", idle: [1], convert: ofCritics("algorithm.epochs") },
  { old: "*.ppo_epochs", noEffect: true, note: "the trainer did not read it" },
  {
    old: "*.num_generations",
    now: "algorithm.groupSize",
    missing: (config) => (isPreference(config) ? undefined : groupSize(config)),
    convert: (value, config) => (isPreference(config) ? {} : { set: { "algorithm.groupSize": value } }),
    alone: true,
  },
  { old: "*.num_return_sequences", now: "algorithm.groupSize", convert: ofCritics("algorithm.groupSize") },
  { old: "*.max_new_tokens", now: "sampling.maxTokens", alone: true },
  {
    old: "*.temperature",
    now: "sampling.temperature",
    missing: (config) => absent(config, "temperature", 0.7),
    alone: true,
  },
  { old: "*.top_p", now: "sampling.topP", missing: (config) => absent(config, "top_p", 0.9), alone: true },
  { old: "*.top_k", now: "sampling.topK", alone: true },
  { old: "*.do_sample", idle: [true], note: "on-policy training always samples" },
  {
    old: "*.discount",
    now: "algorithm.discount",
    note: "per turn",
    missing: (config) =>
      turnsOf(config) > 1 && hasGroups(config) && !usesHandoff(config) && agentNames(config).length === 1
        ? 0.9
        : undefined,
    convert: (value, config) =>
      isPreference(config) || hasOneTurn(config) ? {} : { set: { "algorithm.discount": value } },
    alone: true,
  },
  {
    old: "*.joint_mode",
    now: "algorithm.jointMode",
    note: "aligned: align; cross sums the returns of a completion (crossReturn: sum)",
    convert: (value, config): Converted => {
      if (hasCritic(config) || isPreference(config) || agentNames(config).length === 1) return {};
      const mode = /^(align|cross)(ed)?$/.exec(String(value))?.[1];
      return mode === "cross"
        ? { set: { "algorithm.jointMode": mode, "algorithm.crossReturn": "sum" } }
        : { set: { "algorithm.jointMode": mode ?? value } };
    },
    alone: true,
  },
  {
    old: "*.handoff",
    now: "algorithm.handoff",
    note: "random hands on completions that were played together; the old behaviour is randomIndependent",
    missing: (config) => (handsOnGroups(config) ? "random" : undefined),
    convert: (value, config) => {
      const changed = ofGroups("algorithm.handoff")(value, config);
      return value === "random"
        ? {
            ...changed,
            note: "selects among completions that were played together; the old behaviour is randomIndependent",
          }
        : changed;
    },
    alone: true,
  },
  {
    old: "*.turn_gradient_weights",
    now: "algorithm.turnWeights",
    convert: (value, config) => (hasOneTurn(config) ? {} : ofGroups("algorithm.turnWeights")(value, config)),
    alone: true,
  },
  ...["early_termination_threshold", "termination_threshold"].map(
    (name): OldKey => ({
      old: `*.${name}`,
      now: "algorithm.terminationThreshold",
      note: "applies to the environment's reward, before rewards change it; 0.01 is subtracted from a threshold that may be reached, because here it must be exceeded",
      ...(name === "early_termination_threshold" ? { missing: mostReward } : {}),
      convert: termination,
    }),
  ),
  {
    old: "*.early_termination_weight",
    now: "algorithm.terminationWeight",
    missing: (config) => (handsOnGroups(config) ? 2 : undefined),
    convert: (value, config) => (hasOneTurn(config) ? {} : ofGroups("algorithm.terminationWeight")(value, config)),
    alone: true,
  },
  {
    old: "*.advantage_mode",
    now: "algorithm.id; algorithm.advantage with one agent",
    idle: ["mean"],
    note: "raw, max and rloo become mareinforce, maremax and marloo",
    convert: (value, config): Converted => {
      if (hasCritic(config) || isPreference(config)) return {};
      const [team, single] =
        new Map([
          ["raw", ["mareinforce", "none"]],
          ["max", ["maremax", "group-max"]],
          ["rloo", ["marloo", "leave-one-out"]],
        ]).get(String(value)) ?? [];
      if (team === undefined || single === undefined)
        return { lost: "the supported modes are mean, raw, max and rloo" };
      return { set: agentNames(config).length === 1 ? { "algorithm.advantage": single } : { "algorithm.id": team } };
    },
  },
  {
    old: "*.advantage_normalization",
    now: "algorithm.whiten",
    convert: (value, config) => (isPreference(config) ? {} : { set: { "algorithm.whiten": value } }),
    alone: true,
  },
  { old: "*.normalize_advantage", now: "algorithm.whiten", convert: ofGroups("algorithm.whiten"), alone: true },
  { old: "*.reward_norm_eps", note: "returns are not normalized, only advantages (algorithm.whiten)" },
  { old: "*.beta", noEffect: true, note: "its loss has no KL term; algorithm.klWeight would add one" },
  {
    old: "*.epsilon_clip",
    note: "its loss has no ratio to clip; grpo with surrogate: clipped has one (algorithm.clipLow, clipHigh)",
  },
  {
    old: "*.reference_kl_enabled",
    now: "algorithm.klWeight",
    idle: [false],
    convert: (value, config) =>
      value === true
        ? { set: { "algorithm.klWeight": config.number("*.reference_kl_coef") ?? 0.1, "algorithm.klIn": "reward" } }
        : {},
  },
  {
    old: "*.reference_kl_coef",
    now: "algorithm.klWeight",
    note: "with klIn: reward",
    partOf: "*.reference_kl_enabled",
  },

  {
    old: "*.use_separate_critic",
    now: "algorithm.critic",
    note: "true: separate, false: shared",
    missing: (config) => (algorithmName(config) === "ippo" ? false : undefined),
    convert: (value, config) =>
      ofCritics("algorithm.critic")(value === true ? "separate" : value === false ? "shared" : value, config),
    alone: true,
  },
  { old: "*.critic_type", now: "algorithm.criticInput", convert: ofCritics("algorithm.criticInput"), alone: true },
  { old: "*.critic_model", note: "a separate critic starts from the policy's model" },
  { old: "*.critic_model_name_or_path", note: "a separate critic starts from the policy's model" },
  { old: "*.critic_model_kwargs", noEffect: true },
  { old: "*.critic_value_head_hidden_dim", note: "the value head is one linear layer" },
  { old: "*.value_head_hidden_dim", note: "the value head is one linear layer" },
  {
    old: "*.value_loss_coef",
    now: "algorithm.valueWeight",
    note: "a separate critic has its own optimizer, so its loss has no weight",
    convert: (value, config) =>
      config.get("*.use_separate_critic") === false ? ofCritics("algorithm.valueWeight")(value, config) : {},
  },
  {
    old: "*.value_clip_range",
    now: "algorithm.valueClip",
    missing: (config) => (["iac", "ippo", "ac"].includes(config.section) ? 0.2 : undefined),
    convert: ofCritics("algorithm.valueClip"),
    alone: true,
  },
  {
    old: "*.entropy_coef",
    now: "algorithm.entropyWeight",
    idle: [0],
    convert: ofCritics("algorithm.entropyWeight"),
    alone: true,
  },
  { old: "*.pad_token_id", noEffect: true },

  ...preferenceKeys,
  {
    old: "*.logging_steps",
    now: "training.sampleEvery",
    note: "metrics are logged at every step; sample completions are shown at these steps",
    alone: true,
  },
  { old: "*.loss_log_interval", noEffect: true, note: "every step is logged" },
  { old: "*.save_steps", now: "checkpoint.every", alone: true },
  { old: "*.save_epochs", note: "the interval of checkpoints is in steps: checkpoint.every" },
  {
    old: "*.eval_interval",
    now: "evaluation.every",
    note: "batches of one task there, steps here",
    missing: (config) => (hasGroups(config) && evaluates(config) ? 4 : undefined),
    convert: (value, config) =>
      config.alone
        ? { set: { "evaluation.every": value } }
        : {
            set: {
              "evaluation.every": value === 0 ? 0 : Math.max(1, Math.round(Number(value) / tasksPerStep(config))),
            },
          },
    alone: true,
  },
  {
    old: "*.eval_num_samples",
    now: "evaluation.limit",
    idle: [0],
    missing: (config) => (hasGroups(config) && evaluates(config) ? 4 : undefined),
    alone: true,
  },
  { old: "*.eval_batch_size", noEffect: true, note: "rollout.concurrency is the number of concurrent episodes" },
  { old: "*.output_dir", now: "output", alone: true },
  { old: "*.parallel_training", idle: ["none", "auto"], note: "all models run on the devices of the backend" },
  ...["agent", "critic", "reference"].map(
    (name): OldKey => ({
      old: `*.${name}_devices`,
      idle: ["cuda:0", ["cuda:0"], "cpu", "auto"],
      note: "all models run on the devices of the backend: model.device, or several cards by backend (docs/gpu.md)",
    }),
  ),
  { old: "*.dataloader_drop_last", noEffect: true },
  { old: "*.dataloader_num_workers", noEffect: true },
];

function algorithm(_: Json, config: OldConfig): Converted {
  const section = trainerSections.find(({ name }) => name === algorithmName(config)) ?? trainerSections[0]!;
  const set: Record<string, Json> = {};
  for (const [key, value] of Object.entries(section.algorithm)) set[`algorithm.${key}`] = value;
  if (hasGroups(config) && turnsOf(config) > 1) {
    set["algorithm.turnStructure"] = usesHandoff(config) ? "handoff" : "tree";
    // Only the reward of the turn itself counts.
    if (usesHandoff(config)) set["algorithm.discount"] = 0;
  }
  const marlhf = config.section.startsWith("marlhf") ? { note: rewardModelReason } : {};
  return { set, ...marlhf };
}

function numberOfAgents(_: Json, config: OldConfig): Converted {
  const count = agentNames(config).length;
  if (datasetOf(config)?.environment.id === "writing") {
    return count === 1
      ? {
          set: { "agents.weights": "shared" },
          note: "each part of a text in its own completion, instead of both in one",
        }
      : {};
  }
  return count === 1 ? {} : { set: { "environment.agents": count } };
}

function numberOfTurns(turns: Json, config: OldConfig): Converted {
  if (config.alone) return { set: { "environment.maxTurns": turns } };
  if (turns === 1 || datasetOf(config)?.environment.id === "writing") return {};
  // A conversation contains the problem and the answers.
  const seen: Record<string, Json> = keepsConversation(config)
    ? {
        "environment.history": "conversation",
        "environment.originalPrompt": false,
        "environment.previousResponse": false,
      }
    : { "environment.history": "latest" };
  return { set: { "environment.maxTurns": turns, "environment.rewardEveryTurn": true, ...seen } };
}

function passes(value: Json, config: OldConfig): Converted {
  const dataset = datasetOf(config);
  const ratio = config.number("data.split_ratio");
  const named = config.text("dataset.train_split") ?? config.text("data.train_split");
  const sized = config.number("dataset.size");
  const whole = sized === undefined ? "train" : `train[:${sized}]`;
  const given = named ?? (ratio === undefined ? whole : `test[:${Math.round(ratio * 100)}%]`);
  const tasks = splitSize(given, dataset);
  const perStep = tasksPerStep(config);
  if (tasks === undefined) return epochs(value);
  const steps = Math.ceil((Number(value) * tasks) / perStep);
  return { set: { "training.steps": steps }, note: `${String(value)} passes over ${tasks} tasks, ${perStep} a step` };
}

function termination(value: Json, config: OldConfig): Converted {
  if (hasOneTurn(config)) return {};
  const { scale, shift } = processing(config);
  const reached = usesHandoff(config) && !hasCritic(config);
  if (scale === 0) return { lost: "every reward would be multiplied by 0" };
  const raw = (Number(value) - shift) / scale - (reached ? 0.01 : 0);
  const threshold = Number(raw.toPrecision(10));
  if (isPreference(config)) return {};
  return {
    set: { "algorithm.terminationThreshold": threshold },
    ...(shift === 0 && scale === 1 && !reached
      ? {}
      : { note: reached ? "must be exceeded here, but only reached there" : "before rewards change it" }),
  };
}

/** Returns the highest reward, at which the versions that hand on end an episode. */
function mostReward(config: OldConfig): Json | undefined {
  if (!handsOnGroups(config) || config.has("*.termination_threshold")) return undefined;
  return datasetOf(config)?.environment.id === "code" ? (agentNames(config).length === 1 ? 2.1 : 4) : undefined;
}

/** Returns true if a config has tasks for evaluation. */
function evaluates(config: OldConfig): boolean {
  return ["dataset.eval_split", "dataset.eval_size", "data.split_ratio"].some((path) => config.has(path));
}

/** Returns a default of the scripts if no model section sets the key. */
function absent(config: OldConfig, name: string, value: Json): Json | undefined {
  return config.has(`model.${name}`) || config.has(`agent_model.${name}`) || config.alone ? undefined : value;
}
