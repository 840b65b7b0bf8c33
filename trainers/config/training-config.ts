import { z } from "zod";
import type { AgentId } from "../../src/contract/action.ts";
import type { SamplingSettings } from "../../src/contract/sampler.ts";
import { type PolicySpecification, policySpecificationSchema } from "../../src/core/policy/policy-specification.ts";
import type { RolloutLimits } from "../../src/core/rollout/rollout-limits.ts";
import { mostAtOnce } from "../../src/core/rollout/rollout-options.ts";
import { type AlgorithmDefinition, algorithms } from "../algorithms/index.ts";
import type { ExportDtype } from "../backend/training-backend.ts";
import type { BestCheckpointConfig } from "../checkpoint/best-checkpoint.ts";
import type { Overlong } from "../data/fit-episodes.ts";
import { type RewardProcessorConfig, rewardProcessorsSchema } from "../rewards/reward-processor-config.ts";
import { type CurriculumConfig, type CurriculumConfigInput, curriculumSchema } from "./curriculum-config.ts";
import { type ModelConfig, type ModelConfigInput, modelConfigSchema } from "./model-config.ts";
import { parseConfig } from "./parse-config.ts";

/** Everything that determines a training run but its environment. Each key is described in the schema below. */
export interface TrainingConfig {
  readonly seed: number;
  readonly algorithm: AlgorithmConfig;
  readonly model: ModelConfig;
  readonly agents: AgentsConfig;
  readonly rewards: readonly RewardProcessorConfig[];
  readonly tasks: TasksConfig;
  readonly data: DataConfig;
  readonly sampling: SamplingConfig;
  readonly rollout: RolloutConfig;
  readonly training: OptimizationConfig;
  readonly evaluation: EvaluationConfig;
  readonly checkpoint: CheckpointConfig;
  readonly export: ExportConfig;
  readonly probe: ProbeConfig;
}

/** What is trained on. */
export interface TasksConfig {
  readonly split: string;
  readonly curriculum?: CurriculumConfig | undefined;
}

/** How rows of demonstrations and preferences become training data. */
export interface DataConfig {
  readonly overlong: Overlong;
}

/** The algorithm's id, and its own settings beside it. */
export interface AlgorithmConfig {
  readonly id: string;
  readonly [setting: string]: unknown;
}

/** Which weights the agents of an environment play with, where it has several. */
export interface AgentsConfig {
  /** `separate`: an adapter each over one base, or a full model each; `shared`: one set of weights plays them all. */
  readonly weights: "separate" | "shared";
  /** By name, the agents that play with another model than `model`. */
  readonly models: Readonly<Record<AgentId, ModelConfig>>;
  /** By name, the agents that are not trained, and what plays each. */
  readonly policies: Readonly<Record<AgentId, PolicySpecification>>;
}

/** How completions are drawn. */
export interface SamplingConfig {
  readonly temperature: number;
  readonly maxTokens: number;
  readonly topK?: number | undefined;
  readonly topP?: number | undefined;
  readonly minP?: number | undefined;
  readonly stop?: readonly string[] | undefined;
}

/** How episodes are played. */
export interface RolloutConfig {
  readonly concurrency: number;
  readonly maxStaleness: number;
  readonly trace: boolean;
  readonly limits: {
    readonly turns?: number | undefined;
    readonly tokens?: number | undefined;
    readonly episodeSeconds?: number | undefined;
    readonly environmentSeconds: number;
    readonly actSeconds: number;
  };
}

/** How long and how fast the model is trained. */
export interface OptimizationConfig {
  /** Absent: as many as `epochs` take, or 100. */
  readonly steps?: number | undefined;
  /** Passes over the tasks, instead of steps. */
  readonly epochs?: number | undefined;
  readonly batchSize: number;
  /** Absent: by the kind of training; see `defaultLearningRate`. */
  readonly learningRate?: number | undefined;
  readonly schedule: "constant" | "linear" | "cosine";
  readonly warmupSteps: number;
  readonly finalLearningRateFraction: number;
  readonly clipNorm: number;
  readonly weightDecay: number;
  readonly beta1: number;
  readonly beta2: number;
  readonly epsilon: number;
  readonly maxTokensPerMicroBatch: number;
  readonly sampleEvery: number;
}

/** How and when held-out tasks are played. */
export interface EvaluationConfig {
  readonly split?: string | undefined;
  readonly every: number;
  readonly limit: number;
  readonly temperature: number;
  readonly episodesPerTask: number;
  /** What the model plays against, in place of itself. */
  readonly opponent?: PolicySpecification | undefined;
}

/** When checkpoints are written, and how many are kept. */
export interface CheckpointConfig {
  readonly every: number;
  readonly keep: number;
  readonly best?: BestCheckpointConfig | undefined;
}

/** What is written at the end for others to use. */
export interface ExportConfig {
  readonly format: "auto" | "none" | "huggingface" | "peft";
  /** Of a Hugging Face folder; `auto`: that of the model that the run begins with. */
  readonly dtype: "auto" | ExportDtype;
  /** The model after the last step, or that of the best evaluation. */
  readonly from: "last" | "best";
}

/** How the reward's signal is looked at before the first step. */
export interface ProbeConfig {
  readonly groups: number;
}

/** A {@link TrainingConfig} as a person writes it: what has a default may be left out. */
export interface TrainingConfigInput {
  readonly seed?: number;
  readonly algorithm: AlgorithmConfig;
  readonly model: ModelConfigInput;
  readonly agents?: {
    readonly weights?: AgentsConfig["weights"];
    readonly models?: Readonly<Record<AgentId, ModelConfigInput>>;
    readonly policies?: Readonly<Record<AgentId, PolicySpecification>>;
  };
  readonly rewards?: readonly RewardProcessorConfig[];
  readonly tasks?: { readonly split?: string; readonly curriculum?: CurriculumConfigInput };
  readonly data?: Partial<DataConfig>;
  readonly sampling?: Partial<SamplingConfig>;
  readonly rollout?: {
    readonly concurrency?: number;
    readonly maxStaleness?: number;
    readonly trace?: boolean;
    readonly limits?: Partial<RolloutConfig["limits"]>;
  };
  readonly training?: Partial<OptimizationConfig>;
  readonly evaluation?: Partial<EvaluationConfig>;
  readonly checkpoint?: {
    readonly every?: number;
    readonly keep?: number;
    readonly best?: Partial<BestCheckpointConfig>;
  };
  readonly export?: Partial<ExportConfig>;
  readonly probe?: Partial<ProbeConfig>;
}

const count = (): z.ZodNumber => z.int().positive();

const agents = z
  .strictObject({
    weights: z
      .enum(["separate", "shared"])
      .default("separate")
      .describe("separate: an adapter (or a full model) for each agent; shared: one set of weights plays them all."),
    models: z
      .record(z.string(), modelConfigSchema)
      .default({})
      .describe("By agent, the models of those that do not play with the one in model."),
    policies: z
      .record(z.string(), policySpecificationSchema)
      .default({})
      .describe(
        "By agent, the frozen policy of those that are not trained: a name such as openai:gpt-5-mini, an address or a folder, a policy file, or its keys; see policies.md.",
      ),
  })
  .check((context) => {
    const { weights, models } = context.value;
    if (weights === "separate" || Object.keys(models).length === 0) return;
    const message = "agents that share weights have one model: leave models out";
    context.issues.push({ code: "custom", message, input: models, path: ["models"] });
  });

const sampling = z.strictObject({
  temperature: z.number().positive().default(1).describe("Logits are divided by it, in sampling and in training."),
  maxTokens: count().default(256).describe("The most tokens of one completion, end-of-turn token included."),
  topK: count().optional().describe("Keep the k likeliest tokens."),
  topP: z.number().positive().max(1).optional().describe("Keep the likeliest tokens whose probability reaches p."),
  minP: z.number().min(0).max(1).optional().describe("Keep tokens at least this fraction as likely as the likeliest."),
  stop: z.array(z.string().min(1)).optional().describe("End a completion when its text contains one of these."),
});

const rollout = z.strictObject({
  concurrency: count().max(mostAtOnce).default(256).describe("Episodes that are played at once."),
  maxStaleness: z
    .int()
    .min(0)
    .max(1)
    .default(0)
    .describe("1: play the next batch while a step learns, by weights one step old, corrected by importance weights."),
  trace: z.boolean().default(false).describe("Write every training episode, with its tokens, to trace.jsonl."),
  limits: z
    .strictObject({
      turns: count().optional().describe("Truncate an episode after so many turns, if its environment allows more."),
      tokens: count().optional().describe("Truncate an episode when an agent has sampled so many tokens in it."),
      episodeSeconds: z.number().positive().optional().describe("Truncate an episode after so much time."),
      environmentSeconds: z.number().positive().default(300).describe("The time of one call of the environment."),
      actSeconds: z.number().positive().default(3600).describe("The time of one action of the policy."),
    })
    .prefault({}),
});

const optimization = z
  .strictObject({
    steps: count().optional().describe("Training steps: one batch of tasks each. 100 if there are no epochs either."),
    epochs: count()
      .optional()
      .describe(
        "Instead of steps: how often each task is played. The last batch of an epoch has the tasks that are left.",
      ),
    batchSize: count().default(16).describe("Tasks per step; times the group size, episodes per step."),
    learningRate: z
      .number()
      .positive()
      .optional()
      .describe("Learning rate of AdamW after warm-up. By the kind of training when absent; see training.md."),
    schedule: z.enum(["constant", "linear", "cosine"]).default("constant").describe("How the learning rate falls."),
    warmupSteps: z.int().min(0).default(0).describe("Steps over which the learning rate rises from 0."),
    finalLearningRateFraction: z.number().min(0).max(1).default(0).describe("What is left of it at the last step."),
    clipNorm: z.number().positive().default(1).describe("The gradient is scaled down to this global norm."),
    weightDecay: z
      .number()
      .min(0)
      .default(0)
      .describe("Decoupled weight decay, of every trained weight but biases and norms."),
    beta1: z.number().min(0).lt(1).default(0.9).describe("Decay of the first moment."),
    beta2: z.number().min(0).lt(1).default(0.999).describe("Decay of the second moment."),
    epsilon: z.number().positive().default(1e-8).describe("Added to the root of the second moment."),
    maxTokensPerMicroBatch: count()
      .default(2048)
      .describe("Sequences are run in parts of at most so many tokens, padding included: bounds memory."),
    sampleEvery: z.int().min(0).default(10).describe("Show a completion every so many steps; 0 for never."),
  })
  .check((context) => {
    const { steps, epochs } = context.value;
    if (steps === undefined || epochs === undefined) return;
    const message = "give either steps or epochs (passes over the tasks), and leave the other out";
    context.issues.push({ code: "custom", message, input: epochs, path: ["epochs"] });
  });

const evaluation = z.strictObject({
  split: z.string().min(1).optional().describe("Held-out tasks, such as test[:500]; no evaluation when absent."),
  every: z.int().min(0).default(0).describe("Evaluate every so many steps; 0 for only before and after training."),
  limit: count().default(200).describe("The most tasks of an evaluation: the split's first ones."),
  temperature: z.number().min(0).default(0).describe("0 is greedy."),
  episodesPerTask: count().default(1).describe("Episodes per task, each sampled by itself."),
  opponent: policySpecificationSchema
    .optional()
    .describe(
      "In a game of two agents, what the model plays against in evaluations, named as in agents.policies: each task is played from both sides.",
    ),
});

const checkpoint = z.strictObject({
  every: z.int().min(0).default(50).describe("Save every so many steps; 0 for only at the end and when aborted."),
  keep: count().default(3).describe("How many checkpoints are kept; the oldest go first."),
  best: z
    .strictObject({
      metric: z.string().min(1).default("evaluation/accuracy").describe("What an evaluation is judged by."),
      mode: z.enum(["max", "min"]).default("max").describe("Whether the most or the least of it is best."),
    })
    .optional()
    .describe("Keep the checkpoint of the best evaluation too, as checkpoints/best."),
});

const probe = z.strictObject({
  groups: z
    .int()
    .min(0)
    .default(4)
    .describe("Tasks that are played before the first step, to see whether their rewards have a signal; 0 for none."),
});

/**
 * The keys of a training config with their schemas: what a larger config (the command line's, with an environment)
 * spreads into its own `z.strictObject`. `known` are the algorithms that it may name.
 */
export function trainingConfigShape(known: readonly AlgorithmDefinition[] = algorithms): TrainingConfigShape {
  const cases = known.map(({ id, settings, description }) =>
    z.strictObject({ id: z.literal(id).describe(description), ...settings.shape }),
  );
  return {
    seed: z.int().default(0).describe("Everything random in the run derives from it."),
    algorithm: z
      .discriminatedUnion("id", cases as unknown as [z.ZodObject, ...z.ZodObject[]])
      .describe("How the model learns.") as unknown as z.ZodType<AlgorithmConfig>,
    model: modelConfigSchema.describe("Which model is trained, which of its parameters, and on what."),
    agents: agents.prefault({}),
    rewards: rewardProcessorsSchema.prefault([]),
    tasks: z
      .strictObject({
        split: z.string().min(1).default("train").describe("Tasks to train on, such as train[:1000]."),
        curriculum: curriculumSchema.optional().describe("Easy tasks first; all in shuffled passes when absent."),
      })
      .prefault({}),
    data: z
      .strictObject({
        overlong: z
          .enum(["error", "truncate", "drop"])
          .default("error")
          .describe(
            "Rows of SFT and DPO with more tokens than the model reads: end the run, keep the end of the row, or leave it out.",
          ),
      })
      .prefault({}),
    sampling: sampling.prefault({}),
    rollout: rollout.prefault({}),
    training: optimization.prefault({}),
    evaluation: evaluation.prefault({}),
    checkpoint: checkpoint.prefault({}),
    export: z
      .strictObject({
        format: z
          .enum(["auto", "none", "huggingface", "peft"])
          .default("auto")
          .describe("What the trained model is written as; auto: a PEFT adapter for LoRA, else a Hugging Face folder."),
        dtype: z
          .enum(["auto", "float32", "float16", "bfloat16"])
          .default("auto")
          .describe(
            "What a Hugging Face folder has its weights in; auto: what the model that the run begins with has.",
          ),
        from: z
          .enum(["last", "best"])
          .default("last")
          .describe("last: as it is at the end; best: that of checkpoint.best, which the next stage begins with too."),
      })
      .prefault({}),
    probe: probe.prefault({}),
  };
}

/** Each key of a {@link TrainingConfig} with its schema. */
export type TrainingConfigShape = { readonly [Key in keyof TrainingConfig]: z.ZodType<TrainingConfig[Key]> };

/** The strict schema of a {@link TrainingConfig}. */
export function trainingConfigSchema(known: readonly AlgorithmDefinition[] = algorithms): z.ZodType<TrainingConfig> {
  return z.strictObject(trainingConfigShape(known));
}

/** A training config with its defaults filled in. Throws `config.invalid` with every problem. */
export function parseTrainingConfig(
  config: TrainingConfigInput,
  known: readonly AlgorithmDefinition[] = algorithms,
): TrainingConfig {
  return parseConfig({ schema: trainingConfigSchema(known), value: config, name: "training config" });
}

/** The limits of the rollout section as the rollout loop takes them. */
export function rolloutLimits({ limits }: RolloutConfig): Partial<RolloutLimits> {
  const { turns, tokens, episodeSeconds, environmentSeconds, actSeconds } = limits;
  return {
    ...(turns === undefined ? {} : { turns }),
    ...(tokens === undefined ? {} : { tokens }),
    ...(episodeSeconds === undefined ? {} : { episodeMs: episodeSeconds * 1000 }),
    environmentMs: environmentSeconds * 1000,
    actMs: actSeconds * 1000,
  };
}

/** The sampling section as a sampler takes it. */
export function samplingSettings(config: SamplingConfig): SamplingSettings {
  const { temperature, maxTokens, topK, topP, minP, stop } = config;
  return {
    temperature,
    maxTokens,
    ...(topK === undefined ? {} : { topK }),
    ...(topP === undefined ? {} : { topP }),
    ...(minP === undefined ? {} : { minP }),
    ...(stop === undefined ? {} : { stop }),
  };
}
