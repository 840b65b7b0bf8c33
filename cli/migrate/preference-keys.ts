import type { Json } from "../../src/contract/json.ts";
import { isPreference } from "./llm-collab-run.ts";
import type { OldConfig } from "./old-config.ts";
import type { Converted, OldKey } from "./old-key.ts";

/** The reason why the keys of MARLHF's reward model are lost. */
export const rewardModelReason = "there is no learned reward model: training uses the environment's own reward";

const resampledReason = "every step of madpo samples new completions and trains on the best and the worst of a group";
const ownCompletionsReason = "both completions of a preference are the policy's own";

/** Converts keys of MADPO. In MARLHF they belong to the data of its reward model. */
const ofPreferences =
  (convert: (value: Json) => Converted) =>
  (value: Json, config: OldConfig): Converted =>
    isPreference(config) || config.alone ? convert(value) : { lost: rewardModelReason };

/** The keys for sampling and pairing completions in MADPO and MARLHF. They have no counterpart. */
const drawing = [
  "preference_num_candidates",
  "num_iterations",
  "preference_replay_mode",
  "preference_replay_k",
  "preference_replay_lambda",
  "preference_replay_sample_size",
  "preference_replay_dir",
];

/** The keys of another policy whose completions are compared. */
const comparator = [
  "generation_mode",
  "centralized_agent_index",
  "model_name",
  "agents",
  "devices",
  "num_candidates",
  "history_k",
  "api_url",
  "api_format",
  "api_model",
  "api_max_n_per_request",
  "api_timeout",
  "api_headers",
  "api_extra_body",
  "api_key",
  "api_key_env",
  "api_key_header",
  "api_key_prefix",
  "api_response_field",
];

const rewardModel = [
  "reward_model_name",
  "reward_learning_rate",
  "reward_num_train_epochs",
  "reward_train_batch_size",
  "reward_max_length",
  "reward_freeze_backbone",
  "reward_model_device",
  "preference_scoring_reward",
];

/** The keys that only affect logging and output, never training. */
const bookkeeping = [
  "use_environment_step",
  "environment_steps_per_pair",
  "log_reward_distribution",
  "policy_checkpoint_dir",
];

/** The keys of MADPOConfig, MARLHFConfig and their iterative forms that other trainers do not have. */
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
    note: "the number of joint completions that are sampled for a pair",
    convert: ofPreferences((value) => ({ set: { "algorithm.groupSize": Math.max(2, Number(value)) } })),
  },
  {
    old: "*.pair_selection",
    now: "algorithm.pairs",
    note: "reward_gap and comparator_reward: best-worst",
    convert: ofPreferences((value) => {
      if (value === "random") return { lost: "a preference is the best and the worst of a group, or every pair of it" };
      const best = ["reward_gap", "comparator_reward"].includes(String(value));
      return { set: { "algorithm.pairs": best ? "best-worst" : value } };
    }),
  },
  ...drawing.map(
    (name): OldKey => ({
      old: `*.${name}`,
      note: resampledReason,
      convert: ofPreferences(() => ({ lost: resampledReason })),
    }),
  ),
  { old: "*.comparator_policy", idle: ["current", "current_copy"], note: ownCompletionsReason },
  ...comparator.map((name): OldKey => ({ old: `*.comparator_${name}`, note: ownCompletionsReason })),
  ...rewardModel.map((name): OldKey => ({ old: `*.${name}`, note: rewardModelReason })),
  {
    old: "*.collaboration_mode",
    idle: ["decentralized"],
    note: "agents act at the same time, each with its own weights",
  },
  ...bookkeeping.map((name): OldKey => ({ old: `*.${name}`, noEffect: true })),
];
