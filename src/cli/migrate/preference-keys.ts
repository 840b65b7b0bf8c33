import type { Json } from "../../contract/json.ts";
import { isPreference } from "./llm-collab-run.ts";
import type { OldConfig } from "./old-config.ts";
import type { Converted, OldKey } from "./old-key.ts";

/** Why the keys of MARLHF's reward model are lost. */
export const rewardModelReason = "there is no learned reward model: the environment's own reward is learned from";

const anewReason = "every step of madpo draws its answers anew and learns from the best and the worst of a group";
const ownAnswersReason = "both answers of a preference are the policy's own";

/** Of MADPO; what MARLHF learns its reward model from. */
const ofPreferences =
  (convert: (value: Json) => Converted) =>
  (value: Json, config: OldConfig): Converted =>
    isPreference(config) || config.alone ? convert(value) : { lost: rewardModelReason };

/** How MADPO and MARLHF draw and pair answers; there is no key for it. */
const drawing = [
  "preference_num_candidates",
  "num_iterations",
  "preference_replay_mode",
  "preference_replay_k",
  "preference_replay_lambda",
  "preference_replay_sample_size",
  "preference_replay_dir",
];

/** Another policy that answers are compared with. */
const comparator = [
  ...["generation_mode", "centralized_agent_index", "model_name", "agents", "devices", "num_candidates", "history_k"],
  ...["api_url", "api_format", "api_model", "api_max_n_per_request", "api_timeout", "api_headers", "api_extra_body"],
  ...["api_key", "api_key_env", "api_key_header", "api_key_prefix", "api_response_field"],
];

const rewardModel = [
  ...["reward_model_name", "reward_learning_rate", "reward_num_train_epochs", "reward_train_batch_size"],
  ...["reward_max_length", "reward_freeze_backbone", "reward_model_device", "preference_scoring_reward"],
];

/** What says how the run is measured or kept, never what it learns. */
const bookkeeping = [
  "use_environment_step",
  "environment_steps_per_pair",
  "log_reward_distribution",
  "policy_checkpoint_dir",
];

/** Keys of MADPOConfig, MARLHFConfig and their iterative forms that other trainers do not have. */
export const preferenceKeys: readonly OldKey[] = [
  { old: "*.rl_algorithm", now: "algorithm.id", partOf: "*" },
  {
    old: "*.dpo_beta",
    now: "algorithm.beta",
    convert: ofPreferences((value) => ({ set: { "algorithm.beta": value } })),
    alone: true,
  },
  {
    old: "*.preference_pairs_per_sample",
    now: "algorithm.groupSize",
    note: "so many joint answers are drawn for a step's pair",
    convert: ofPreferences((value) => ({ set: { "algorithm.groupSize": Math.max(2, Number(value)) } })),
  },
  {
    old: "*.pair_selection",
    now: "algorithm.pairs",
    note: "reward_gap and comparator_reward: best-worst",
    convert: ofPreferences((value) => {
      if (value === "random") return { lost: "a preference is the best and the worst of a group, or every two of it" };
      const best = ["reward_gap", "comparator_reward"].includes(String(value));
      return { set: { "algorithm.pairs": best ? "best-worst" : value } };
    }),
  },
  ...drawing.map(
    (name): OldKey => ({ old: `*.${name}`, note: anewReason, convert: ofPreferences(() => ({ lost: anewReason })) }),
  ),
  { old: "*.comparator_policy", idle: ["current", "current_copy"], note: ownAnswersReason },
  ...comparator.map((name): OldKey => ({ old: `*.comparator_${name}`, note: ownAnswersReason })),
  ...rewardModel.map((name): OldKey => ({ old: `*.${name}`, note: rewardModelReason })),
  {
    old: "*.collaboration_mode",
    idle: ["decentralized"],
    note: "agents answer at the same time, each by its own weights",
  },
  ...bookkeeping.map((name): OldKey => ({ old: `*.${name}`, noEffect: true })),
];
