import { LyceumError } from "../../src/contract/errors/index.ts";
import { isJsonObject, type Json } from "../../src/contract/json.ts";
import { codeOptions, datasetOf, splitOf } from "./llm-collab-dataset.ts";
import { agentNames, keepsConversation, processesRewards, turnsOf } from "./llm-collab-run.ts";
import { llmCollabTrainerKeys } from "./llm-collab-trainer-keys.ts";
import { modelSettings, precisionKey } from "./model-settings.ts";
import type { OldConfig } from "./old-config.ts";
import type { Converted, OldKey, RemovedKey } from "./old-key.ts";

/** The names of the model section in early and late versions of LLM_Collab. */
const modelSections = ["model", "agent_model"];

const sampling = { temperature: "sampling.temperature", top_p: "sampling.topP", top_k: "sampling.topK" } as const;

/** The keys of an LLM_Collab config, and of CoMLRL's config classes, whose fields are those of the trainer section. */
export const llmCollabKeys: readonly OldKey[] = [
  {
    old: "dataset.type",
    now: "environment.id, environment.dataset, environment.shareTests",
    note: "humaneval, coophumaneval and mbpp are datasets of code, classeval is class-completion, tldr and arxiv are forms of writing; with code, the tests of the reward are also those of the feedback",
    missing: (config) => datasetOf(config)?.type,
    convert: environment,
  },
  {
    old: "dataset.name",
    now: "environment.dataset, environment.path",
    note: "a benchmark finds its own data; a local file is environment.path",
    convert: datasetName,
  },
  ...["train", "eval"].map(
    (name): OldKey => ({
      old: `dataset.${name}_split`,
      now: name === "train" ? "tasks.split" : "evaluation.split",
      note: "HumanEval, CoopHumanEval and ClassEval have one split, test; the slice is kept",
      convert: (value, config) => split(name === "train" ? "tasks.split" : "evaluation.split", value, config),
      alone: true,
    }),
  ),
  {
    old: "dataset.size",
    now: "tasks.split",
    note: "without train_split: train[:size]",
    convert: (value, config) =>
      config.has("dataset.train_split") ? {} : split("tasks.split", `train[:${String(value)}]`, config),
  },
  {
    old: "dataset.eval_size",
    now: "evaluation.limit",
    note: "without eval_split",
    convert: (value, config) => (config.has("dataset.eval_split") ? {} : { set: { "evaluation.limit": value } }),
  },
  { old: "data.dataset_name", now: "environment.id", note: "ClassEval: class-completion", partOf: "dataset.type" },
  {
    old: "data.split_ratio",
    now: "tasks.split, evaluation.split",
    note: "0.8: test[:80%] and test[80%:]",
    convert: (value) => {
      const percent = Math.round(Number(value) * 100);
      if (!(percent > 0 && percent < 100)) return { lost: "a share must be between 0 and 1" };
      return { set: { "tasks.split": `test[:${percent}%]`, "evaluation.split": `test[${percent}%:]` } };
    },
  },
  {
    old: "data.train_split",
    now: "tasks.split",
    convert: (value, config) => split("tasks.split", value, config),
    alone: true,
  },
  {
    old: "collab.mode",
    now: "environment.split",
    note: "the way a class is split between agents: ONE has one agent, RAND_PARTITION is shuffled",
    idle: ["ONE"],
    convert: (value) =>
      value === "RAND_PARTITION"
        ? { set: { "environment.split": "shuffled" } }
        : { lost: "environment.split assigns methods to agents; agents cannot choose" },
  },
  { old: "collab.num_agents", now: "environment.agents", partOf: "*.num_agents" },
  { old: "dataset.private", noEffect: true, note: "set the hub token in HF_TOKEN" },
  {
    old: "dataset.shuffle_train",
    idle: [true],
    note: "the seed shuffles the tasks in each pass",
  },
  { old: "dataset.shuffle_eval", idle: [false], note: "an evaluation plays the first tasks of the split" },
  { old: "seed", now: "seed" },
  { old: "fixed_seed", noEffect: true, note: "all random choices come from seed" },

  { old: "model_name", now: "model.path", note: "like --model_name", convert: modelSettings, alone: true },
  ...modelSections.flatMap((section): OldKey[] => [
    { old: `${section}.name`, now: "model.path", convert: modelSettings, alone: true },
    { old: `${section}.type`, noEffect: true, note: "the model's config.json contains the family" },
    ...["temperature", "top_p", "top_k"].map(
      (name): OldKey => ({
        old: `${section}.${name}`,
        now: sampling[name as keyof typeof sampling],
        // The value of the trainer section takes precedence over that of the model section.
        convert: (value, config) =>
          config.get(`*.${name}`) === undefined ? { set: { [sampling[name as keyof typeof sampling]]: value } } : {},
        alone: true,
      }),
    ),
    { old: `${section}.max_length`, noEffect: true, note: "sequences can be as long as the model allows" },
    { old: `${section}.special_tokens`, idle: [{}], note: "the special tokens of the tokenizer are used" },
    { old: `${section}.tokenizer_kwargs`, noEffect: true, note: "the model's own tokenizer is used" },
    ...["torch_dtype", "dtype", "model_kwargs.torch_dtype"].map(
      (name): OldKey => ({ old: `${section}.${name}`, now: "model.precision", ...precisionKey }),
    ),
    { old: `${section}.model_kwargs.trust_remote_code`, noEffect: true, note: "code in a model folder is never run" },
    { old: `${section}.model_kwargs.device_map`, noEffect: true, note: "a model runs on one device" },
    { old: `${section}.model_kwargs`, noEffect: true, note: "arguments of transformers" },
    { old: `${section}.device_map`, noEffect: true, note: "a model runs on one device" },
    { old: `${section}.do_sample`, idle: [true], note: "on-policy training always samples" },
    {
      old: `${section}.max_new_tokens`,
      now: "sampling.maxTokens",
      convert: (value, config) =>
        config.get("*.max_new_tokens") === undefined ? { set: { "sampling.maxTokens": value } } : {},
    },
  ]),
  ...["agents", "models"].map(
    (old): OldKey => ({
      old,
      now: "model.path, agents.models",
      note: "a list of models, one for each agent in order",
      convert: (value, config) => agents(old, value, config),
    }),
  ),
  ...(
    [
      ["lora.", "lora."],
      ["", "lora_"],
    ] as const
  ).flatMap(([section, prefix]): OldKey[] => {
    const on = section === "" ? "use_lora" : "lora.enabled";
    const setting = (name: string, key: string): OldKey => ({
      old: section === "" ? `${prefix}${name.replace(/^lora_/, "")}` : `${prefix}${name}`,
      now: `model.adapter.${key}`,
      convert: (value, config) => {
        if (config.get(on) !== true || value === "all-linear") return {};
        return { set: { [`model.adapter.${key}`]: value } };
      },
    });
    return [
      {
        old: on,
        now: "model.adapter.type",
        note: "true: lora",
        idle: [false],
        convert: (value) => ({ set: { "model.adapter.type": value === true ? "lora" : value } }),
        alone: true,
      },
      setting("r", "rank"),
      setting("lora_alpha", "alpha"),
      setting("lora_dropout", "dropout"),
      setting("target_modules", "targets"),
    ];
  }),
  { old: "lora.bias", idle: ["none"], note: "adapters have no biases" },
  { old: "lora.task_type", noEffect: true },
  { old: "lora_path", note: "training starts from model.path" },
  {
    old: "agents.num_agents",
    now: "environment.agents",
    note: "like num_agents of the trainer",
    partOf: "*.num_agents",
  },
  ...["critic_model", "critic"].map(
    (section): OldKey => ({
      old: section,
      note: "a separate critic starts from the policy's model",
      convert: (value, config) => {
        const name = isJsonObject(value) ? value.name : undefined;
        const policy = config.text("agent_model.name") ?? config.text("model.name");
        return name === undefined || name === policy
          ? {}
          : { lost: "a separate critic starts from the policy's model" };
      },
    }),
  ),
  { old: "critics", note: "a separate critic starts from the policy's model" },
  { old: "tokenizer.padding_side", noEffect: true, note: "sequences are not padded" },

  ...llmCollabTrainerKeys,

  ...["external.mode", "*.external_mode"].map(
    (old): OldKey => ({
      old,
      now: "environment.mode",
      note: "code_feedback and personal_feedback of ClassEval become level_feedback; plain_simple becomes plain",
      convert: mode,
      alone: true,
    }),
  ),
  {
    old: "external.sandbox_slice",
    now: "environment.sandboxSlice",
    none: "all",
    note: "0, None and all mean all, as ClassEval does without it",
    missing: (config) =>
      datasetOf(config)?.environment.id === "class-completion" && turnsOf(config) > 1 ? "all" : undefined,
    convert: (value, config) =>
      onCode(config, { "environment.sandboxSlice": value === 0 || typeof value !== "number" ? "all" : value }),
    alone: true,
  },
  ...(["original_prompt", "previous_response"] as const).flatMap((name) => {
    const key = name === "original_prompt" ? "environment.originalPrompt" : "environment.previousResponse";
    const missing = (config: OldConfig): Json | undefined =>
      turnsOf(config) > 1 && !keepsConversation(config) ? true : undefined;
    const convert = (value: Json, config: OldConfig): Converted => onCode(config, { [key]: value });
    return [
      { old: `external.${name}`, now: key, missing, convert, alone: true },
      {
        old: `*.external_${name}`,
        now: key,
        note: "the spelling of the README; the scripts read external",
        convert,
        alone: true,
      },
    ];
  }),
  {
    old: "external.memory_mode",
    now: "environment.history",
    note: "full: conversation",
    partOf: "*.num_turns",
  },
  { old: "external.previous_prompts", now: "environment.history", note: "true: conversation", partOf: "*.num_turns" },
  { old: "external.previous_responses", now: "environment.history", note: "true: conversation", partOf: "*.num_turns" },
  ...["external.expert_model", "*.expert_model"].map(
    (old): OldKey => ({
      old,
      now: "environment.expert",
      note: "the expert of the mode expert_edits: claude-... becomes anthropic:claude-..., deepseek-... becomes deepseek:deepseek-...",
      missing: (config) =>
        old.startsWith("external") && modeName(config) === "expert_edits" && !config.has("*.expert_model")
          ? "deepseek-coder"
          : undefined,
      convert: (value, config) =>
        modeName(config) === "expert_edits" || config.alone
          ? onCode(config, { "environment.expert": expertName(String(value)) })
          : {},
      alone: true,
    }),
  ),
  ...["external.external_prompt_passthrough", "*.external_prompt_passthrough"].map(
    (old): OldKey => ({ old, noEffect: true, note: "the prompt of a later turn is always used unchanged" }),
  ),

  { old: "reward_processor.enabled", now: "rewards", partOf: "reward_processor.shift" },
  {
    old: "reward_processor.scale_factor",
    now: "rewards",
    note: "{ type: scale, factor }",
    idle: [1],
    convert: (factor, config) => processed(config, { type: "scale", factor }),
  },
  {
    old: "reward_processor.shift",
    now: "rewards",
    note: "{ type: shift, by }",
    idle: [0],
    convert: (by, config) => processed(config, { type: "shift", by }),
  },
  {
    old: "*.reward_shift",
    now: "rewards",
    note: "{ type: shift, by }",
    idle: [0],
    convert: (by) => ({ set: { rewards: [{ type: "shift", by }] } }),
  },

  { old: "output.base_dir", now: "output" },
  { old: "output.save_path", noEffect: true, note: "the model is in model/ of the run folder" },
  {
    old: "output.save_final_model",
    now: "export.format",
    note: "false: none",
    convert: (value) => (value === false ? { set: { "export.format": "none" } } : {}),
    alone: true,
  },
  { old: "output.verbose", noEffect: true },
  { old: "output", noEffect: true },
  {
    old: "wandb",
    now: "trackers",
    note: "there is no tracker for Weights & Biases; `wandb sync` reads the files of tensorboard",
    convert: (value) => {
      const { project = null, enabled = true } = isJsonObject(value) ? value : {};
      return enabled === false || project === null
        ? {}
        : {
            set: { trackers: ["tensorboard"] },
            lost: "there is no tracker for Weights & Biases; `wandb sync` reads the files of tensorboard",
          };
    },
  },
  { old: "preference", note: "preferences are pairs of completions of the same step" },
  { old: "reward_model", note: "there is no learned reward model: training uses the environment's own reward" },
  {
    old: "reward.type",
    note: "there is no learned reward model: environment.reward selects the reward",
    idle: ["oracle", "task"],
  },
  { old: "patches", noEffect: true, note: "patches of CoMLRL's trainer, which are not needed here" },
];

/** Converts a split to a new key. A split that cannot be parsed is lost. */
function split(key: string, value: Json, config: OldConfig): Converted {
  try {
    return { set: { [key]: splitOf(value, datasetOf(config)) } };
  } catch (error) {
    if (!LyceumError.isInstance(error)) throw error;
    return { lost: error.message.replace(/\.$/, "") };
  }
}

/** Sets options that only the code environments have. Writing has one turn. */
function onCode(config: OldConfig, options: Readonly<Record<string, Json>>): Converted {
  return datasetOf(config)?.environment.id === "writing" ? {} : { set: options };
}

function environment(value: Json, config: OldConfig): Converted {
  const dataset = datasetOf(config);
  if (dataset === undefined) {
    const path = config.text("dataset.name") ?? "problems.jsonl";
    return {
      set: {
        "environment.id": "code",
        "environment.dataset": "jsonl",
        "environment.path": path,
        ...environmentKeys(codeOptions),
      },
      lost: `"${String(value)}" is not built in: environment.path has to name problems in the form of docs/code.md, or environment.id an environment of your own`,
    };
  }
  return { set: environmentKeys(dataset.environment) };
}

function environmentKeys(options: Readonly<Record<string, Json>>): Record<string, Json> {
  return Object.fromEntries(Object.entries(options).map(([key, option]) => [`environment.${key}`, option]));
}

function datasetName(value: Json, config: OldConfig): Converted {
  const dataset = datasetOf(config);
  const name = String(value);
  if (dataset === undefined) return {};
  const { dataset: own } = dataset.environment;
  if (dataset.hub.some((hub) => hub.toLowerCase() === name.toLowerCase()))
    return own === undefined ? {} : { set: { "environment.dataset": own } };
  if (dataset.environment.id === "writing" && !/^[./]|\.\w+$/.test(name))
    return { set: { "environment.dataset": name } };
  return { set: { "environment.path": name } };
}

function agents(old: string, value: Json, config: OldConfig): Converted {
  if (!Array.isArray(value)) return {};
  const names = agentNames(config);
  if (value.length !== names.length) return { lost: `${names.length} agents need one model each, or one for all` };
  const set: Record<string, Json> = {};
  const lost: RemovedKey[] = [];
  for (const [place, agent] of value.entries()) {
    const { name, ...others } = isJsonObject(agent) ? agent : { name: agent };
    for (const [key, change] of Object.entries(modelSettings(name ?? null).set!)) {
      if (place === 0) set[key] = change;
      else if (set[key] !== change) set[key.replace("model.", `agents.models.${names[place]!}.`)] = change;
    }
    for (const [key, setting] of Object.entries(others)) {
      if (setting === null || tokenizerKeys.includes(key)) continue;
      const reason = "all agents share the same settings: sampling, model.precision";
      lost.push({ key: `${old}[${place}].${key}`, value: setting, reason });
    }
  }
  return { set, ...(lost.length === 0 ? {} : { lost }) };
}

/** The settings of one model in a list that have no effect here. */
const tokenizerKeys = ["type", "max_length", "tokenizer_kwargs", "special_tokens"];

function modeName(config: OldConfig): string {
  return config.text("external.mode") ?? config.text("*.external_mode") ?? "level_feedback";
}

function mode(value: Json, config: OldConfig): Converted {
  const same = ["level_feedback", "level_passed", "passed", "plain", "expert_edits"];
  const known = new Map([
    ...same.map((name) => [name, name] as const),
    ["code_feedback", "level_feedback"],
    ["personal_feedback", "level_feedback"],
    ["plain_simple", "plain"],
  ]).get(String(value));
  if (known !== undefined) {
    const changed = onCode(config, { "environment.mode": known });
    return known === "level_feedback" && known !== value
      ? { ...changed, note: "shows every failing test; the old one shows the first five" }
      : changed;
  }
  return { lost: `the supported modes are ${same.join(", ")}` };
}

/** Returns a model's name for a policy: with its provider, or with the address that the old program used. */
function expertName(name: string): string {
  if (name.startsWith("claude")) return `anthropic:${name}`;
  if (name.startsWith("deepseek")) return `deepseek:${name}`;
  return name.startsWith("qwen") ? `https://dashscope-intl.aliyuncs.com/compatible-mode/v1#${name}` : name;
}

function processed(config: OldConfig, processor: Readonly<Record<string, Json>>): Converted {
  return processesRewards(config) ? { set: { rewards: [processor] } } : {};
}
