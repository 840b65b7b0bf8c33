import type { Json } from "../../../src/contract/json.ts";

/** The settings of a trainer section. */
export type Settings = Readonly<Record<string, Json>>;

/** A public config of LLM_Collab, reduced to the settings that determine the training. */
export interface PublicConfig {
  readonly name: string;
  readonly section: string;
  readonly config: Readonly<Record<string, Json>>;
}

/** The data sets by the short names in the file names: hub id, type, training split and evaluation split. */
const data = {
  he: ["openai/openai_humaneval", "humaneval", "test[33:163]", "test[:32]"],
  che: ["OpenMLRL/CoopHumanEval", "coophumaneval", "test[16:]", "test[:16]"],
  che2025: ["CoMLRL/CoopHumanEval", "coophumaneval", "test[16:]", "test[:16]"],
  cheTrain: ["OpenMLRL/CoopHumanEval", "coophumaneval", "train[16:]", "train[:16]"],
  mbpp: ["OpenMLRL/MBPP", "mbpp", "test[15:65]", "test[:15]"],
  mbpp2025: ["ryankamiri/mbpp", "coophumaneval", "test[33:163]", "test[:32]"],
  classeval: ["FudanSELab/ClassEval", "classeval", "test[:66]", "test[66:82]"],
  tldr: ["trl-lib/tldr", "tldr", "train[:1100]", "test[:1100]"],
  arxiv: ["OpenMLRL/arXiv_abstract", "arxiv", "train[:1100]", "val[:1100]"],
  tldr1000: ["trl-lib/tldr", "tldr", "train[:1000]", "test[:1000]"],
  arxiv1000: ["OpenMLRL/arXiv_abstract", "arxiv", "train[:1000]", "val[:1000]"],
} as const;
type Data = keyof typeof data;

function dataset(key: Data): Json {
  const [name, type, train_split, eval_split] = data[key];
  return { name, type, train_split, eval_split };
}

/** Configs that differ in their data and in some settings. */
function family(
  name: string,
  shared: Readonly<Record<string, Json>>,
  common: Settings,
  rows: readonly (readonly [section: string, data: Data, own: Settings])[],
): PublicConfig[] {
  return rows.map(([section, key, own]) => ({
    name: `${name} ${section} ${key}`,
    section,
    config: { ...shared, dataset: dataset(key), [section]: { ...common, ...own } },
  }));
}

const coder = "Qwen/Qwen2.5-Coder-3B";
const feedback = { mode: "level_feedback", sandbox_slice: 1 };
const shifted = (shift: number): Json => ({ enabled: true, scale_factor: 1, shift });

const handoffTurns = { num_turns: 2, turn_gradient_weights: [1.2, 0.8], early_termination_weight: 2 };
const hot = { temperature: 0.8, top_p: 0.95 };
const two = { num_agents: 2 };

/** As seed 004 describes them. */
const handoff = family(
  "2025",
  {
    model: { name: coder, type: "qwen", temperature: 0.7, top_p: 0.9, model_kwargs: { torch_dtype: "auto" } },
    external: { ...feedback, original_prompt: true, previous_response: true },
    output: { save_final_model: false },
  },
  { num_generations: 4, max_new_tokens: 256, logging_steps: 50, save_steps: 200, handoff: "random" },
  [
    ["grpo", "he", { num_train_epochs: 8, learning_rate: 1e-5, ...hot, early_termination_threshold: 2.1 }],
    ["grpo", "che2025", { num_train_epochs: 16, learning_rate: 1e-5, ...hot, early_termination_threshold: 2.1 }],
    ["magrpo", "he", { num_train_epochs: 8, learning_rate: 2e-5, ...two, early_termination_threshold: 4 }],
    [
      "magrpo",
      "che2025",
      { num_train_epochs: 16, learning_rate: 2e-5, ...hot, ...two, early_termination_threshold: 4 },
    ],
    [
      "grpo",
      "he",
      { ...handoffTurns, num_train_epochs: 6, learning_rate: 2e-5, ...hot, early_termination_threshold: 2.1 },
    ],
    [
      "grpo",
      "che2025",
      { ...handoffTurns, num_train_epochs: 8, learning_rate: 2e-5, ...hot, early_termination_threshold: 2.1 },
    ],
    [
      "magrpo",
      "he",
      { ...handoffTurns, num_train_epochs: 6, learning_rate: 2e-5, ...two, early_termination_threshold: 4 },
    ],
    [
      "magrpo",
      "che2025",
      { ...handoffTurns, num_train_epochs: 8, learning_rate: 2e-5, ...hot, ...two, early_termination_threshold: 4 },
    ],
    [
      "magrpo",
      "mbpp2025",
      { ...handoffTurns, num_train_epochs: 8, learning_rate: 2e-5, ...hot, ...two, early_termination_threshold: 4 },
    ],
  ],
);

const critic = {
  ...{ num_train_epochs: 80, actor_learning_rate: 5e-6, critic_learning_rate: 5e-6, value_loss_coef: 0.6 },
  ...{ rollout_buffer_size: 4, temperature: 0.6, top_p: 0.6, reward_shift: -4, early_termination_threshold: -0.2 },
};
const cool = { temperature: 0.6, top_p: 0.6 };
const grouped = { num_generations: 4, joint_mode: "aligned", logging_steps: 5 };

/** From LLM_Collab_Code_Generation at the beginning of 2026. */
const tree = family(
  "2026-01",
  {
    model: { name: coder, temperature: 0.7, top_p: 0.9, model_kwargs: { torch_dtype: "bfloat16" } },
    external: feedback,
    output: { save_final_model: false },
  },
  { num_turns: 2, max_new_tokens: 256, discount: 0.9, eval_interval: 20 },
  [
    ...(["he", "che", "mbpp"] as const).flatMap((key) => [
      ["ac", key, { ...critic, num_agents: 1, eval_num_samples: 16 }] as const,
      ["iac", key, { ...critic, ...two, eval_num_samples: 16 }] as const,
      ["maac", key, { ...critic, ...two, critic_type: "v", eval_num_samples: 16 }] as const,
    ]),
    [
      "grpo",
      "che",
      {
        ...grouped,
        num_train_epochs: 20,
        learning_rate: 2e-5,
        ...hot,
        termination_threshold: -0.1,
        reward_shift: -2.1,
      },
    ],
    [
      "grpo",
      "he",
      { ...grouped, num_train_epochs: 6, learning_rate: 2e-5, ...cool, termination_threshold: -0.2, reward_shift: -4 },
    ],
    [
      "grpo",
      "mbpp",
      { ...grouped, num_train_epochs: 8, learning_rate: 3e-5, ...hot, termination_threshold: -0.1, reward_shift: -2.1 },
    ],
  ],
);

const pass = { agent_learning_rate: 2e-5, logging_steps: 50, max_new_tokens: 256, joint_mode: "aligned", ...two };
const buffered = (size: number): Settings => ({ rollout_buffer_size: size, train_batch_size: size });
const measured = { advantage_normalization: true, eval_interval: 4, eval_num_samples: 4, eval_batch_size: 1 };
const pairs = { dpo_beta: 0.1, use_environment_step: true, environment_steps_per_pair: 2, num_turns: 1 };
const replay = { preference_replay_mode: "lambda_decay", preference_replay_sample_size: 264 };
const learned = { rl_algorithm: "magrpo", reward_learning_rate: 1e-5, reward_train_batch_size: 4 };

/** The newest configs of LLM_Collab_Code_Generation. */
const newest = family(
  "2026",
  {
    agent_model: { name: coder, ...cool, top_k: null, torch_dtype: "bfloat16", special_tokens: {} },
    agents: null,
    seed: 42,
    external: feedback,
    output: { save_final_model: false },
    reward_processor: shifted(-4),
  },
  { ...pass, ...measured, parallel_training: "none", agent_devices: ["cuda:0"], discount: 1 },
  [
    [
      "magrpo",
      "cheTrain",
      {
        ...{ num_turns: 2, num_train_epochs: 8, num_generations: 4, early_termination_threshold: -0.2 },
        ...buffered(4),
      },
    ],
    [
      "magrpo",
      "he",
      {
        ...{ num_turns: 2, num_train_epochs: 6, num_generations: 4, early_termination_threshold: -0.2 },
        ...buffered(2),
      },
    ],
    [
      "madpo",
      "cheTrain",
      {
        ...{ num_train_epochs: 2, preference_num_candidates: 80, preference_pairs_per_sample: 16 },
        ...{ pair_selection: "reward_gap", ...pairs, ...buffered(4) },
      },
    ],
    [
      "madpo",
      "he",
      {
        ...{ num_train_epochs: 6, preference_num_candidates: 5, preference_pairs_per_sample: 2 },
        ...{ pair_selection: "reward_gap", ...pairs, ...buffered(2) },
      },
    ],
    [
      "madpo_iter",
      "cheTrain",
      {
        ...{ num_train_epochs: 2, preference_num_candidates: 20, preference_pairs_per_sample: 4, num_iterations: 4 },
        ...{ pair_selection: "comparator_reward", ...pairs, ...buffered(4), ...replay, comparator_policy: "current" },
      },
    ],
    [
      "marlhf",
      "cheTrain",
      {
        ...{ num_train_epochs: 16, preference_num_candidates: 80, preference_pairs_per_sample: 16, ...learned },
        ...{ pair_selection: "reward_gap", ...pairs, ...buffered(4), num_generations: 4 },
      },
    ],
    [
      "marlhf_iter",
      "he",
      {
        ...{ num_train_epochs: 8, preference_num_candidates: 80, preference_pairs_per_sample: 16, ...learned },
        ...{ pair_selection: "reward_gap", ...pairs, ...buffered(2), num_generations: 4, num_iterations: 3 },
      },
    ],
  ],
);

/** From LLM_Collab_Code_Completion. */
const completion = family(
  "completion",
  {
    agent_model: { name: "Qwen/Qwen3-4B-Instruct-2507", ...cool, top_k: null, torch_dtype: "bfloat16" },
    external: { mode: "code_feedback", original_prompt: true, previous_response: true },
    output: { save_final_model: false, verbose: false },
    reward_processor: shifted(-6),
  },
  { ...two, num_turns: 2, max_new_tokens: 600, discount: 0.9, early_termination_threshold: -0.2, logging_steps: 1 },
  [
    [
      "magrpo",
      "classeval",
      {
        ...{ num_train_epochs: 13, agent_learning_rate: "1e-5", num_generations: 2, joint_mode: "aligned" },
        ...{ ...buffered(1), advantage_normalization: true, eval_interval: 10, eval_num_samples: 4 },
      },
    ],
    ...(["iac", "maac"] as const).map(
      (section) =>
        [
          section,
          "classeval",
          {
            ...{ num_train_epochs: 40, agent_learning_rate: "5e-6", critic_learning_rate: "5e-6", num_generations: 1 },
            ...{ value_loss_coef: 0.6, ...buffered(2), eval_interval: 20, eval_num_samples: 4 },
          },
        ] as const,
    ),
  ],
);

/** From LLM_Collab_Writing. */
const writing = family(
  "writing",
  {
    agent_model: { name: "Qwen/Qwen3-1.7B", temperature: 0.7, top_p: 0.9, top_k: null, torch_dtype: "auto" },
    tokenizer: { padding_side: "left" },
    output: { save_final_model: true },
    reward_processor: shifted(0),
  },
  { num_turns: 1, agent_learning_rate: 5e-6, eval_num_samples: 4 },
  (["tldr", "arxiv"] as const).flatMap((form) => {
    const groups = { num_generations: 4, joint_mode: "aligned", advantage_normalization: true };
    const critics = { critic_learning_rate: 5e-6, value_loss_coef: 0.6, eval_interval: 20 };
    return [
      ["magrpo", form, { ...groups, ...buffered(1), num_train_epochs: 2, max_new_tokens: 256, eval_interval: 20 }],
      [
        "grpo",
        `${form}1000`,
        { ...groups, ...buffered(2), num_train_epochs: 1, max_new_tokens: 256, eval_interval: 4 },
      ],
      ["ac", `${form}1000`, { ...critics, rollout_buffer_size: 4, num_train_epochs: 4, max_new_tokens: 512 }],
      ["iac", `${form}1000`, { ...critics, ...two, ...buffered(4), num_train_epochs: 20, max_new_tokens: 256 }],
      ["maac", form, { ...critics, ...two, ...buffered(4), num_train_epochs: 20, max_new_tokens: 256 }],
    ] as const;
  }),
);

/** Public configs of LLM_Collab from several years. */
export const llmCollabConfigs: readonly PublicConfig[] = [...handoff, ...tree, ...newest, ...completion, ...writing];
