import { z } from "zod";
import { parseConfig } from "../../src/core/config/parse-config.ts";
import { policySpecificationSchema } from "../../src/core/policy/policy-specification.ts";
import { programSpecificationSchema } from "../../src/core/policy/program-specification.ts";
import { createRegistry } from "../../src/core/registry.ts";
import type { RolloutLimits } from "../../src/core/rollout/rollout-limits.ts";
import { maxConcurrency } from "../../src/core/rollout/rollout-options.ts";
import { type AlgorithmDefinition, algorithms } from "../algorithms/index.ts";
import { rewardProcessorsSchema } from "../rewards/reward-processor-config.ts";
import { completeConfig, isComplete } from "./complete-config.ts";
import { curriculumSchema } from "./curriculum-config.ts";
import type { Immutable } from "./immutable.ts";
import { type ModelConfig, modelConfigSchema } from "./model-config.ts";

const count = (): z.ZodNumber => z.int().positive();

const agents = z
  .strictObject({
    weights: z
      .enum(["separate", "shared"])
      .default("separate")
      .describe("separate: an adapter (or a full model) for each agent; shared: one set of weights for all agents."),
    models: z
      .record(z.string(), modelConfigSchema)
      .default({})
      .describe("By agent: the models of agents that play with another model than the one in model."),
    policies: z
      .record(z.string(), policySpecificationSchema)
      .default({})
      .describe(
        "By agent: the frozen policies of agents that are not trained. Each is a name such as openai:gpt-5-mini, an address, a folder, a policy file, or the keys of one; see policies.md.",
      ),
    programs: z
      .record(z.string(), programSpecificationSchema)
      .default({})
      .describe(
        "By agent: the programs that trained agents act by. The model in training answers their model calls; see agents.md.",
      ),
  })
  .check((context) => {
    const { weights, models } = context.value;
    if (weights === "separate" || Object.keys(models).length === 0) return;
    const message = "agents that share weights have one model: remove models";
    context.issues.push({ code: "custom", message, input: models, path: ["models"] });
  });

const sampling = z.strictObject({
  temperature: z
    .number()
    .positive()
    .default(1)
    .describe("The temperature that logits are divided by, in sampling and in training."),
  maxTokens: count()
    .default(256)
    .describe("The largest number of tokens of one completion, including the end-of-turn token."),
  topK: count().optional().describe("Sample from the k likeliest tokens."),
  topP: z
    .number()
    .positive()
    .max(1)
    .optional()
    .describe("Sample from the smallest set of likeliest tokens whose total probability reaches p."),
  minP: z
    .number()
    .min(0)
    .max(1)
    .optional()
    .describe("Sample from tokens with at least this fraction of the likeliest token's probability."),
  stop: z
    .array(z.string().min(1))
    .optional()
    .describe("Stop sequences: a completion ends if its text contains one of these."),
});

const rollout = z.strictObject({
  concurrency: count()
    .max(maxConcurrency)
    .default(256)
    .describe("The largest number of episodes played at the same time."),
  maxStaleness: z
    .int()
    .min(0)
    .max(1)
    .default(0)
    .describe(
      "1: play the next batch while a step learns. Its weights are then one step old, which importance weights correct.",
    ),
  trace: z.boolean().default(false).describe("Write every training episode, with its tokens, to trace.jsonl."),
  limits: z
    .strictObject({
      turns: count().optional().describe("Truncate an episode after this many turns, if its environment allows more."),
      tokens: count().optional().describe("Truncate an episode when an agent has sampled this many tokens in it."),
      episodeSeconds: z.number().positive().optional().describe("Truncate an episode after this many seconds."),
      environmentSeconds: z
        .number()
        .positive()
        .default(300)
        .describe("Timeout of one call of the environment, in seconds."),
      actSeconds: z.number().positive().default(3600).describe("Timeout of one action of the policy, in seconds."),
    })
    .prefault({}),
});

const optimization = z
  .strictObject({
    steps: count().optional().describe("Training steps, with one batch of tasks each. 100 if epochs is absent too."),
    epochs: count()
      .optional()
      .describe("Instead of steps: passes over the tasks. The last batch of an epoch has the remaining tasks."),
    batchSize: count().default(16).describe("Tasks per step. Multiplied by the group size: episodes per step."),
    learningRate: z
      .number()
      .positive()
      .optional()
      .describe(
        "Learning rate of AdamW after warm-up. When absent, it depends on the kind of training; see training.md.",
      ),
    schedule: z.enum(["constant", "linear", "cosine"]).default("constant").describe("How the learning rate decays."),
    warmupSteps: z.int().min(0).default(0).describe("Steps over which the learning rate rises linearly from 0."),
    finalLearningRateFraction: z
      .number()
      .min(0)
      .max(1)
      .default(0)
      .describe("The fraction of the learning rate that linear and cosine reach after the last step."),
    clipNorm: z
      .number()
      .positive()
      .default(1)
      .describe("The largest global norm of the gradient. A larger gradient is scaled down to it."),
    weightDecay: z
      .number()
      .min(0)
      .default(0)
      .describe("Decoupled weight decay of all trained weights except biases and norms."),
    beta1: z.number().min(0).lt(1).default(0.9).describe("Decay of the first moment."),
    beta2: z.number().min(0).lt(1).default(0.999).describe("Decay of the second moment."),
    epsilon: z.number().positive().default(1e-8).describe("Added to the root of the second moment."),
    maxTokensPerMicroBatch: count()
      .optional()
      .describe(
        "The largest number of tokens that run at once, including padding. Lower it to use less memory. When absent: 2048, on a card with PyTorch 16384 for each process.",
      ),
    sampleEvery: z.int().min(0).default(10).describe("Show a completion every this many steps. 0: never."),
  })
  .check((context) => {
    const { steps, epochs } = context.value;
    if (steps === undefined || epochs === undefined) return;
    const message = "give either steps or epochs (passes over the tasks), not both";
    context.issues.push({ code: "custom", message, input: epochs, path: ["epochs"] });
  });

const evaluation = z.strictObject({
  split: z.string().min(1).optional().describe("Held-out tasks, such as test[:500]. No evaluation when absent."),
  every: z.int().min(0).default(0).describe("Evaluate every this many steps. 0: only before and after training."),
  limit: count()
    .default(200)
    .describe("The largest number of tasks of an evaluation. The first tasks of the split are used."),
  temperature: z.number().min(0).default(0).describe("Sampling temperature of evaluations. 0: greedy."),
  episodesPerTask: count().default(1).describe("Episodes per task, sampled independently."),
  opponent: policySpecificationSchema
    .optional()
    .describe(
      "In a game of two agents: the policy that the model plays against in evaluations, written as in agents.policies. Each task is played from both sides.",
    ),
});

const checkpoint = z.strictObject({
  every: z.int().min(0).default(50).describe("Save every this many steps. 0: only at the end and when aborted."),
  keep: count().default(3).describe("How many checkpoints are kept. The oldest are deleted first."),
  best: z
    .strictObject({
      metric: z.string().min(1).default("evaluation/accuracy").describe("The metric that evaluations are compared by."),
      mode: z.enum(["max", "min"]).default("max").describe("max: the highest value is best; min: the lowest."),
    })
    .optional()
    .describe("Also keep the checkpoint of the best evaluation, as checkpoints/best."),
});

const probe = z.strictObject({
  groups: z
    .int()
    .min(0)
    .default(4)
    .describe(
      "0: do not report whether the rewards of the first batch have a signal. Else: the tasks that are played for the report alone, with --probe.",
    ),
});

/**
 * Returns the keys of a training config with their schemas. A larger config, such as the command line's with an
 * environment, spreads them into its own `z.strictObject`. `known` are the algorithms that the config may name.
 */
export function trainingConfigShape(known: readonly AlgorithmDefinition[] = algorithms.list()) {
  const cases = known.map(({ id, settings, description }) =>
    settings.strict().safeExtend({ id: z.literal(id).describe(description) }),
  );
  return {
    seed: z.int().default(0).describe("The seed of all random choices of the run."),
    algorithm: z
      .discriminatedUnion("id", cases as unknown as [z.ZodObject, ...z.ZodObject[]])
      .describe("The training algorithm.") as unknown as z.ZodType<AlgorithmConfig, AlgorithmConfig>,
    model: modelConfigSchema.describe("The model to train, the parameters to train, and the device."),
    agents: agents.prefault({}),
    rewards: rewardProcessorsSchema.prefault([]),
    tasks: z
      .strictObject({
        split: z.string().min(1).default("train").describe("The split to train on, such as train[:1000]."),
        curriculum: curriculumSchema
          .optional()
          .describe("Start with easy tasks. When absent, all tasks are played in shuffled passes."),
      })
      .prefault({}),
    data: z
      .strictObject({
        invalid: z
          .enum(["error", "drop"])
          .default("error")
          .describe(
            "What happens to malformed rows. All rows are read before step 1. error: end the run; drop: leave the row out, and report how many and the first.",
          ),
        overlong: z
          .enum(["error", "truncate", "drop"])
          .default("error")
          .describe(
            "What happens to rows of SFT and DPO with more tokens than the model reads. error: end the run; truncate: keep the end of the row; drop: leave the row out.",
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
          .describe(
            "The format of the exported model. auto: a PEFT adapter for LoRA, otherwise a Hugging Face folder.",
          ),
        dtype: z
          .enum(["auto", "float32", "float16", "bfloat16"])
          .default("auto")
          .describe(
            "The data type of the weights in a Hugging Face folder. auto: that of the model that the run starts from.",
          ),
        from: z
          .enum(["last", "best"])
          .default("last")
          .describe(
            "last: the model at the end; best: the model of checkpoint.best. The next stage starts from the exported model.",
          ),
      })
      .prefault({}),
    preflight: z
      .boolean()
      .default(true)
      .describe("Check before the first step that sampler and trainer agree. The run ends if they do not."),
    probe: probe.prefault({}),
  };
}

/** The algorithm's id and its settings. */
interface AlgorithmConfig {
  readonly id: string;
  readonly [setting: string]: unknown;
}

type ShapeOf = z.ZodObject<ReturnType<typeof trainingConfigShape>>;

/**
 * All settings of a training run, without its environment: checked and complete, except that the learning rate may be
 * absent. The schema above describes each key.
 */
export type TrainingConfig = Immutable<z.output<ShapeOf>>;

/** A config as a program or a file writes it: a {@link TrainingConfig} in which keys with a default are optional. */
export type TrainingConfigInput = Immutable<z.input<ShapeOf>>;

/** A complete config with its learning rate: the value that a run trains with and records. */
export type ResolvedConfig = TrainingConfig & { readonly training: { readonly learningRate: number } };

/** The part of a training config that names the model each agent starts from. */
export interface StartingModels {
  readonly model: ModelConfig;
  readonly agents: Pick<TrainingConfig["agents"], "weights" | "models">;
}

/** Returns the strict schema of a {@link TrainingConfig}. */
export function trainingConfigSchema(
  known: readonly AlgorithmDefinition[] = algorithms.list(),
): z.ZodType<TrainingConfig> {
  return z.strictObject(trainingConfigShape(known)).transform(completeConfig);
}

/**
 * Checks a training config and fills in all defaults except the learning rate. Returns a checked config unchanged.
 * Throws `config.invalid` with all problems, and `config.unknown-name` for an unknown algorithm.
 */
export function checkConfig(
  config: TrainingConfigInput,
  known: readonly AlgorithmDefinition[] = algorithms.list(),
): TrainingConfig {
  if (isComplete(config)) return config;
  const id: unknown = config.algorithm?.id;
  if (typeof id === "string") createRegistry("algorithm", known).get(id);
  return parseConfig({ schema: trainingConfigSchema(known), value: config, name: "training config" });
}

/** Returns the limits of the section `rollout` as the rollout loop takes them, in milliseconds. */
export function rolloutLimits({ limits }: TrainingConfig["rollout"]): Partial<RolloutLimits> {
  const { turns, tokens, episodeSeconds, environmentSeconds, actSeconds } = limits;
  return {
    ...(turns === undefined ? {} : { turns }),
    ...(tokens === undefined ? {} : { tokens }),
    ...(episodeSeconds === undefined ? {} : { episodeMs: episodeSeconds * 1000 }),
    environmentMs: environmentSeconds * 1000,
    actMs: actSeconds * 1000,
  };
}
