import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { openCatalog } from "../../../cli/catalog.ts";
import { nestedConfig } from "../../../cli/migrate/convert-config.ts";
import { migrateConfig } from "../../../cli/migrate-config.ts";
import { isJsonObject, type Json } from "../../../src/contract/json.ts";
import { llmCollabConfigs, type Settings } from "./public-configs.ts";

const catalog = await openCatalog();

async function migrated(config: Json) {
  const { converted } = await migrateConfig({ text: stringify(config), name: "old.yaml", to: "new.yaml", catalog });
  return { ...converted, config: nestedConfig(converted.set) };
}

const settingsOf = (config: Readonly<Record<string, Json>>, section: string): Settings => {
  const found = config[section];
  return isJsonObject(found) ? found : {};
};

describe("public configs of LLM_Collab", () => {
  it.each(llmCollabConfigs)("$name keeps the model, the data and the training settings", async ({
    section,
    config: old,
  }) => {
    const { config, lost } = await migrated(old);
    const [own, model] = [settingsOf(old, section), settingsOf(old, old.model === undefined ? "agent_model" : "model")];
    const [data, shift] = [settingsOf(old, "dataset"), settingsOf(old, "reward_processor").shift ?? own.reward_shift];
    expect(config).toMatchObject({
      model: { path: model.name },
      sampling: {
        temperature: own.temperature ?? model.temperature,
        topP: own.top_p ?? model.top_p,
        maxTokens: own.max_new_tokens,
      },
      training: {
        learningRate: Number(own.learning_rate ?? own.agent_learning_rate ?? own.actor_learning_rate),
        steps: expect.any(Number),
        batchSize: expect.any(Number),
      },
      evaluation: { split: String(data.eval_split).replace("train", "test") },
      ...(typeof shift === "number" && shift !== 0 ? { rewards: [{ type: "shift", by: shift }] } : {}),
      ...(old.seed === undefined ? {} : { seed: old.seed }),
    });
    const { split } = config.tasks as { readonly split: string };
    const form = config.environment as Settings;
    expect(split).toBe(form.id === "writing" ? data.train_split : String(data.train_split).replace("train", "test"));
    // Passes over the slice, one buffer of completions per step.
    const [from, to] = [...split.matchAll(/\[(\d*):(\d*)\]/g)][0]!.slice(1).map((bound) => Number(bound || Number.NaN));
    const size = (to! || { "coop-humaneval": 82 }[String(form.dataset)]!) - (from! || 0);
    const { steps, batchSize } = config.training as { readonly steps: number; readonly batchSize: number };
    expect(steps).toBe(Math.ceil((Number(own.num_train_epochs) * size) / batchSize));
    expect(lost.map(({ key }) => key).filter((key) => /rate|epochs|split|shift|turn|temperature/.test(key))).toEqual(
      /marlhf/.test(section)
        ? ["marlhf.reward_learning_rate", "marlhf_iter.reward_learning_rate"].filter((key) =>
            key.startsWith(`${section}.`),
          )
        : [],
    );
  });

  it.each(
    llmCollabConfigs.filter(({ section, config }) => settingsOf(config, section).num_turns === 2),
  )("$name keeps its turns", async ({ section, config: old }) => {
    const { environment, algorithm } = (await migrated(old)).config as Readonly<Record<string, Settings>>;
    const own = settingsOf(old, section);
    expect(environment).toMatchObject({ maxTurns: 2, rewardEveryTurn: true, mode: "level_feedback" });
    const shift = Number(settingsOf(old, "reward_processor").shift ?? own.reward_shift ?? 0);
    const threshold = Number(own.early_termination_threshold ?? own.termination_threshold) - shift;
    if (own.handoff === undefined) {
      expect(algorithm!.terminationThreshold).toBeCloseTo(threshold, 9);
      if (algorithm!.id === "magrpo" || algorithm!.id === "grpo") expect(algorithm!.turnStructure).toBe("tree");
      expect(algorithm!.discount ?? 1).toBe(own.discount);
    } else {
      expect(algorithm).toMatchObject({
        ...{ turnStructure: "handoff", handoff: "random", discount: 0, turnWeights: [1.2, 0.8] },
        ...{ terminationThreshold: expect.closeTo(threshold - 0.01, 9), terminationWeight: 2 },
      });
    }
  });
});

describe("keys that a config of LLM_Collab omits", () => {
  const shared = {
    model: { name: "a/model" },
    dataset: { type: "coophumaneval", train_split: "test[16:]", eval_split: "test[:16]" },
  };

  it.each<[string, Json, object]>([
    [
      "two turns that hand on",
      { magrpo: { num_turns: 2 } },
      {
        algorithm: { turnStructure: "handoff", handoff: "random", terminationThreshold: 3.99, terminationWeight: 2 },
        environment: {
          agents: 2,
          rewardEveryTurn: true,
          history: "latest",
          originalPrompt: true,
          previousResponse: true,
        },
        ...{ evaluation: { every: 4, limit: 4 }, training: { steps: 7 * 66, batchSize: 1 } },
        sampling: { temperature: 0.7, topP: 0.9 },
      },
    ],
    ["one agent's two turns that hand on", { grpo: { num_turns: 2 } }, { algorithm: { terminationThreshold: 2.09 } }],
    [
      "a tree of one agent",
      { grpo: { num_turns: 2, joint_mode: "aligned" } },
      { algorithm: { turnStructure: "tree", discount: 0.9 }, environment: { history: "conversation" } },
    ],
    [
      "ClassEval's early section",
      { trainer: { num_turns: 2 }, dataset: { type: "classeval" } },
      { environment: { id: "class-completion" }, algorithm: { id: "magrpo", turnStructure: "tree" } },
    ],
    ["a critic", { iac: {} }, { algorithm: { valueClip: 0.2, groupSize: 1 }, training: { batchSize: 8 } }],
    [
      "a reward processor without enabled",
      { magrpo: {}, reward_processor: { scale_factor: 2, shift: -4 } },
      {
        rewards: [
          { type: "scale", factor: 2 },
          { type: "shift", by: -4 },
        ],
      },
    ],
  ])("%s: what the scripts took", async (_, own, expected) => {
    expect((await migrated({ ...shared, ...(own as Settings) })).config).toMatchObject(expected);
  });
});

describe("public configs of MRLM", () => {
  const model = { model_name_or_path: "Qwen/Qwen2.5-1.5B-Instruct", torch_dtype: "float16" };
  const sampled = { generation: { max_new_tokens: 512, temperature: 0.7, top_p: 0.9 } };
  const intervals = { log_interval: 10, eval_interval: 5, save_interval: 10 };
  const math = [{ env_type: "math", mode: "client", difficulty_range: [1, 3], max_turns: 5 }];

  it.each<[string, Json, object, readonly string[]]>([
    [
      "code_generation_ppo",
      {
        output_dir: "./output/code",
        training: {
          ...{ algorithm: "ppo", num_epochs: 100, batch_size: 32, mini_batch_size: 8, learning_rate: 5e-6 },
          ...{ max_grad_norm: 0.5, weight_decay: 0.01, lr_scheduler: "cosine", warmup_steps: 100, seed: 42 },
          ...{ num_rollouts_per_iteration: 64, eval_every: 5, eval_episodes: 20, save_every: 10, save_total_limit: 3 },
          ...{ use_tensorboard: true, use_bf16: true, gradient_accumulation_steps: 1 },
        },
        distributed: { enabled: false, backend: "nccl", num_gpus: 1, strategy: "ddp" },
        ppo: { clip_range: 0.2, gamma: 0.99, gae_lambda: 0.95, num_ppo_epochs: 4, entropy_coef: 0.01, target_kl: 0.02 },
        model: { ...model, torch_dtype: "auto", max_new_tokens: 512, temperature: 0.8, top_p: 0.95, top_k: 50 },
        eval_envs: Array.from({ length: 2 }, () => ({
          env_type: "code",
          timeout: 5,
          max_attempts: 2,
          reward_scale: 1,
        })),
      },
      {
        ...{ output: "./output/code", seed: 42, trackers: ["tensorboard"] },
        environment: { id: "code", reward: "mrlm", maxTurns: 2, cpuSeconds: 5 },
        algorithm: { id: "ppo", minibatches: 8, clipLow: 0.2, clipHigh: 0.2, discount: 0.99, lambda: 0.95, epochs: 4 },
        sampling: { maxTokens: 512, temperature: 0.8, topP: 0.95, topK: 50 },
        training: {
          steps: 100,
          batchSize: 64,
          learningRate: 5e-6,
          clipNorm: 0.5,
          schedule: "cosine",
          warmupSteps: 100,
        },
        ...{ evaluation: { every: 5, limit: 20 }, checkpoint: { every: 10, keep: 3 } },
      },
      ["training.use_bf16"],
    ],
    [
      "quick_start",
      {
        training: {
          ...{ algorithm: "ppo", num_epochs: 10, batch_size: 8, learning_rate: 1e-5 },
          ...{ num_rollouts_per_iteration: 16, eval_every: 5, save_every: 5 },
        },
        ppo: { clip_range: 0.2, gamma: 0.99, gae_lambda: 0.95 },
        model: { model_name_or_path: "gpt2", max_new_tokens: 128, temperature: 0.8 },
        eval_envs: [{ env_type: "code", mode: "client", timeout: 3 }],
        distributed: { enabled: false },
      },
      {
        model: { path: "openai-community/gpt2", chatTemplate: "none" },
        environment: { id: "code", maxTurns: 3, cpuSeconds: 3 },
        algorithm: { minibatches: 2, epochs: 4, valueWeight: 0.5, entropyWeight: 0.01, whiten: true },
        sampling: { maxTokens: 128, temperature: 0.8, topP: 0.9, topK: 50 },
        training: { steps: 10, batchSize: 16, clipNorm: 0.5, weightDecay: 0.01 },
      },
      [],
    ],
    [
      "the sample of the README",
      {
        training: { algorithm: "ppo", num_epochs: 100, batch_size: 16, learning_rate: 5e-6 },
        ppo: { clip_range: 0.2, gamma: 0.99, gae_lambda: 0.95 },
        model,
        eval_envs: [{ env_type: "code", mode: "client", max_turns: 3 }],
        distributed: { enabled: true, strategy: "fsdp" },
      },
      { backend: { type: "torch" }, environment: { id: "code", maxTurns: 3 }, training: { batchSize: 128 } },
      ["distributed.strategy"],
    ],
    [
      "train_distributed_ppo.py on four GPUs",
      {
        training: { algorithm: "ppo", num_epochs: 50, batch_size: 16, learning_rate: 5e-6, episodes_per_iteration: 32 },
        ppo: { clip_range: 0.2, gamma: 0.99, gae_lambda: 0.95, num_ppo_epochs: 4, entropy_coef: 0.01 },
        ...{ model, eval_envs: [{ env_type: "code", mode: "client" }] },
        distributed: { enabled: true, strategy: "ddp", backend: "nccl", num_gpus: 4 },
      },
      {
        // 32 episodes in steps of 16 on each of four GPUs.
        ...{ backend: { type: "torch", processes: 4, strategy: "ddp" } },
        algorithm: { id: "ppo", epochs: 4, minibatches: 1 },
        training: { steps: 50, batchSize: 32 },
      },
      [],
    ],
    [
      "math_reasoning_ppo",
      {
        training: {
          algorithm: "ppo",
          num_epochs: 150,
          batch_size: 24,
          learning_rate: 3e-6,
          num_rollouts_per_iteration: 48,
        },
        ppo: { clip_range: 0.15, gae_lambda: 0.98, num_ppo_epochs: 5, entropy_coef: 0.005 },
        model: { model_name_or_path: "gpt2", temperature: 0.7, repetition_penalty: 1.05 },
        eval_envs: [{ env_type: "math", max_attempts: 2 }],
      },
      {
        environment: { id: "math", maxTurns: 2 },
        algorithm: { clipLow: 0.15, lambda: 0.98, epochs: 5, entropyWeight: 0.005, minibatches: 2, discount: 0.99 },
        training: { steps: 150, batchSize: 48 },
      },
      ["model.repetition_penalty"],
    ],
    [
      "math_grpo",
      {
        training: { algorithm: "grpo", num_epochs: 50, batch_size: 8, learning_rate: 1e-5, episodes_per_iteration: 32 },
        grpo: { clip_range: 0.2, gamma: 1, num_grpo_epochs: 4, group_size: 4, target_kl: 0.01, value_loss_coef: 0.5 },
        ...{ model: { ...model, ...sampled }, eval_envs: math, output: { save_dir: "outputs/math", ...intervals } },
      },
      {
        output: "outputs/math",
        environment: { id: "math", difficulty: [1, 3], maxTurns: 5 },
        algorithm: { id: "grpo", groupSize: 4, clipLow: 0.2, discount: 1, epochs: 4, targetKl: 0.01, minibatches: 4 },
        sampling: { maxTokens: 512, temperature: 0.7, topP: 0.9 },
        ...{ training: { steps: 50, batchSize: 8 }, evaluation: { every: 5 }, checkpoint: { every: 10 } },
      },
      ["grpo.value_loss_coef"],
    ],
    [
      "preference_dpo",
      {
        training: { algorithm: "dpo", num_epochs: 20, batch_size: 4, learning_rate: 5e-6 },
        dpo: { beta: 0.1, label_smoothing: 0, reference_free: false },
        ...{ model, dataset: { type: "json", path: "data/preferences.json" }, output: { ...intervals } },
      },
      {
        environment: { id: "preferences", path: "data/preferences.jsonl" },
        algorithm: { id: "dpo", source: "demonstrations", beta: 0.1, labelSmoothing: 0, referenceFree: false },
        training: { batchSize: 4, learningRate: 5e-6 },
      },
      [],
    ],
    [
      "sft_world_model",
      {
        training: { algorithm: "sft", num_epochs: 50, batch_size: 8, learning_rate: 5e-6, episodes_per_iteration: 16 },
        sft: {
          mode: "combined",
          bc_weight: 0.5,
          world_model_weight: 0.5,
          filter_low_reward: true,
          min_reward_threshold: 0.5,
        },
        ...{ model: { ...model, ...sampled }, eval_envs: math },
      },
      {
        environment: { id: "conversations", path: "data/trajectories.jsonl", minReward: 0.5 },
        algorithm: { id: "sft", actionWeight: 0.5, observationWeight: 0.5 },
        training: { batchSize: 8, learningRate: 5e-6 },
      },
      ["eval_envs", "training.episodes_per_iteration", "model.generation.temperature", "model.generation.top_p"],
    ],
  ])("%s keeps what is trained, on what, and how", async (_, old, expected, without) => {
    const { config, lost } = await migrated(old);
    expect(config).toMatchObject(expected);
    expect(lost.map(({ key }) => key).toSorted()).toEqual([...without].toSorted());
    const { algorithm, num_epochs } = settingsOf(old as Settings, "training");
    const counted = ["dpo", "sft"].includes(String(algorithm)) ? { epochs: num_epochs } : { steps: num_epochs };
    expect(config).toMatchObject({ training: counted });
  });
});
