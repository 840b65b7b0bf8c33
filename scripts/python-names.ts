/** A class, an argument or a function of a Python package, and its counterpart here. */
export interface PythonName {
  readonly name: string;
  readonly now?: string;
  readonly note?: string;
}

const reward = "an environment's `step` returns the reward (docs/environments.md)";

/**
 * The trainers of CoMLRL and their constructor arguments. The fields of its config classes are in the table of keys.
 */
export const comlrlNames: readonly PythonName[] = [
  {
    name: "MAGRPOTrainer, MAGRPOConfig",
    now: "`algorithm.id: magrpo`",
    note: "with one agent `grpo`, with `advantage: group-mean` and `surrogate: none`",
  },
  { name: "MAREINFORCETrainer, MAREINFORCEConfig", now: "`algorithm.id: mareinforce`" },
  { name: "MARLOOTrainer, MARLOOConfig", now: "`algorithm.id: marloo`" },
  { name: "MAREMAXTrainer, MAREMAXConfig", now: "`algorithm.id: maremax`" },
  {
    name: "IPPOTrainer, IPPOConfig",
    now: "`algorithm.id: iac`",
    note: "it has neither ratio nor clipping; `ippo` has both",
  },
  { name: "IACTrainer, IACConfig", now: "`algorithm.id: iac`" },
  { name: "MAACTrainer, MAACConfig", now: "`algorithm.id: maac`" },
  {
    name: "MADPOTrainer, MADPOIterTrainer and their configs",
    now: "`algorithm.id: madpo`",
    note: "every step samples new completions, without a comparator",
  },
  {
    name: "MARLHFTrainer, MARLHFIterTrainer and their configs",
    note: "there is no learned reward model: its `rl_algorithm` learns from the environment's own reward",
  },
  {
    name: "CentralizedMAGRPOTrainer, centralized_adapter",
    now: "`algorithm.id: grpo`",
    note: "of an environment whose one agent answers for all roles; with `advantage: group-mean` and `surrogate: none`",
  },
  { name: "trainer.train()", now: "`train({ config, environment, backend })`", note: "or `lyceum train`" },
  { name: "trainer.evaluate(k)", now: "`evaluation.limit`", note: "or `lyceum eval`" },
  {
    name: "trainer.save_model(dir)",
    now: "`export.format`",
    note: "the model is in `model/` of the run's folder, of a team in a folder for each agent",
  },
  {
    name: "model, agent_model",
    now: "`model.path`",
    note: "`lora` in `model.adapter` for models that peft has wrapped",
  },
  { name: "agents", now: "`agents.models`", note: "by agent name" },
  {
    name: "num_agents",
    now: "the environment",
    note: "it names its agents; `environment.agents` of `code` and `class-completion`",
  },
  { name: "critics, critic_model", now: "`algorithm.critic`", note: "`separate`: starts from the policy's model" },
  { name: "tokenizer", note: "the model's own tokenizer is used, with its chat template" },
  {
    name: "model_config",
    now: "`model`, `sampling`",
    note: "`torch_dtype` is `model.precision`; `special_tokens` and `tokenizer_kwargs` are the tokenizer's own",
  },
  {
    name: "train_dataset, eval_dataset",
    now: "`tasks.split`, `evaluation.split`",
    note: "the tasks of an environment (docs/data.md)",
  },
  { name: "dataset_type", now: "`environment.id`" },
  { name: "reward_func, reward_funcs", now: "an environment", note: reward },
  { name: "reward_weights", now: "an environment", note: "a rubric combines several weighted criteria" },
  { name: "reward_processor, reward_processors", now: "`rewards`" },
  { name: "formatters", now: "an environment", note: "its `reset` writes the prompt of each agent" },
  { name: "external_transition", now: "an environment", note: "its `step` writes the prompt of the next turn" },
  {
    name: "wandb_config",
    now: "`trackers`",
    note: "TensorBoard and MLflow; `wandb sync` reads the files of the former",
  },
  {
    name: "eval_logger, eval_aggregator, metrics_callback",
    now: "an environment",
    note: "components of a reward are metrics",
  },
  { name: "args", now: "the config" },
  { name: "RewardProcessors.identity()", now: "`rewards: [{ type: identity }]`" },
  { name: "RewardProcessors.clamp(a, b)", now: "`rewards: [{ type: clamp, minimum, maximum }]`" },
  { name: "RewardProcessors.scale(f)", now: "`rewards: [{ type: scale, factor }]`" },
  { name: "RewardProcessors.shift(v)", now: "`rewards: [{ type: shift, by }]`" },
  { name: "RewardProcessors.sigmoid_scale()", now: "`rewards: [{ type: sigmoid-scale }]`" },
  { name: "RewardProcessors.exponential_scale(f)", now: "`rewards: [{ type: exponential-scale, factor }]`" },
  { name: "RewardProcessors.normalize_by_length(n)", now: "`rewards: [{ type: normalize-by-length, full }]`" },
];

/** The classes of MRLM. The fields of its config classes are in the table of keys. */
export const mrlmNames: readonly PythonName[] = [
  { name: "ExperimentConfig, TrainingConfig, ...", now: "the config", note: "in YAML or as an object for `train`" },
  {
    name: "PPOTrainer, GRPOTrainer, DPOTrainer, SFTTrainer",
    now: "`train`",
    note: "with `algorithm.id`: `ppo`, `grpo`, `dpo`, `sft`",
  },
  { name: "LLMEnvironment(mode=SERVER)", now: "`model`", note: "the trained model" },
  {
    name: "LLMEnvironment(mode=CLIENT)",
    now: "a policy",
    note: "served, embedded, scripted or recorded (docs/policies.md)",
  },
  {
    name: "SimulatedEnvironment",
    now: "`defineEnvironment`",
    note: "`reset` and `step` are functions; a task and a seed come in",
  },
  { name: "Message, Observation, Reward", now: "`Message`, the prompt of a turn, `Reward`" },
  { name: "CodeExecutionEnvironment", now: "`environment.id: code`" },
  {
    name: "MathReasoningEnvironment, MathProblemGenerator",
    now: "`environment.id: math`",
    note: "`gsm8k` and `math-problems` for data sets",
  },
  { name: "DebateEnvironment, RuleBasedJudge", now: "`environment.id: debate`", note: "`judge: rules`" },
  { name: "ToolUseEnvironment, create_default_tool_registry", now: "`environment.id: tools`" },
  { name: "PreferenceDataset", now: "`environment.id: preferences`", note: "JSONL of { prompt, chosen, rejected }" },
  { name: "TrajectoryDataset", now: "`environment.id: conversations`", note: "JSONL as `lyceum collect` writes it" },
  { name: "collect_from_environment", now: "`lyceum collect`" },
  {
    name: "EnvironmentServer, RemoteEnvironment",
    now: "serveEnvironments, remoteEnvironment",
    note: "docs/serving.md and docs/remote-environments.md",
  },
  { name: "distributed helpers", note: "`backend: { type: torch, processes, strategy }` (docs/clusters.md)" },
];
