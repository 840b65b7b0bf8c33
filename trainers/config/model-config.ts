import { z } from "zod";
import { deriveSeed } from "../../src/core/random/random.ts";
import { createByteTokenizer } from "../../src/core/tokens/byte-tokenizer.ts";
import { templateVariablesSchema } from "../../src/core/tokens/template-variables.ts";
import type { ModelSource, ModelSpec, TemplateVariables, TrainableSpec } from "../backend/training-backend.ts";

/** Where the engine runs a model; `auto` takes the fastest that works. */
export type Device = "auto" | "cpu" | "webgpu" | "cuda" | "coreml" | "dml";

/** Which model is trained, which of its parameters, and on what. Each key is described in the schema below. */
export interface ModelConfig {
  readonly path?: string | undefined;
  readonly revision?: string | undefined;
  readonly base?: string | undefined;
  readonly chatTemplate?: string | undefined;
  readonly templateVariables?: TemplateVariables | undefined;
  readonly scratch?: ScratchModelConfig | undefined;
  readonly adapter: AdapterConfig;
  readonly device: Device;
  readonly precision?: "float32" | "float16" | undefined;
  readonly deviceIndex?: number | undefined;
  readonly threads?: number | undefined;
}

/** The shape of a model with random weights over the byte tokenizer. */
export interface ScratchModelConfig {
  readonly family: "llama" | "qwen2" | "qwen3";
  readonly hiddenSize: number;
  readonly layers: number;
  readonly heads: number;
  readonly keyValueHeads?: number | undefined;
  readonly intermediateSize?: number | undefined;
  readonly maxLength: number;
  readonly tieEmbeddings: boolean;
  readonly ropeTheta: number;
  readonly normEpsilon: number;
  /**
   * By default `hiddenSize ** -0.5`: products of that many terms then keep the size of what enters them. The constant
   * 0.02 that checkpoints carry suits widths of thousands; in a narrow model it fades the signal from layer to layer.
   */
  readonly initializerRange?: number | undefined;
}

/** A {@link ModelConfig} as a person writes it. */
export interface ModelConfigInput {
  readonly path?: string;
  readonly revision?: string;
  readonly base?: string;
  readonly chatTemplate?: string;
  readonly templateVariables?: TemplateVariables;
  readonly scratch?: Partial<ScratchModelConfig>;
  readonly adapter?:
    | {
        readonly type: "lora";
        readonly start?: "continue" | "merge";
        readonly rank?: number;
        readonly alpha?: number;
        readonly targets?: readonly string[];
        readonly dropout?: number;
      }
    | { readonly type: "full" };
  readonly device?: Device;
  readonly precision?: "float32" | "float16";
  readonly deviceIndex?: number;
  readonly threads?: number;
}

/** Low-rank adapters over frozen weights, or every weight. */
export type AdapterConfig =
  | {
      readonly type: "lora";
      readonly start?: "continue" | "merge" | undefined;
      /** Absent: 16, or that of the adapter that is continued; and so alpha (32) and targets (all). */
      readonly rank?: number | undefined;
      readonly alpha?: number | undefined;
      readonly targets?: readonly string[] | undefined;
      readonly dropout?: number | undefined;
    }
  | { readonly type: "full" };

const size = (): z.ZodNumber => z.int().positive();

const scratchSchema = z
  .strictObject({
    family: z.enum(["llama", "qwen2", "qwen3"]).default("llama").describe("The architecture."),
    hiddenSize: size().default(128).describe("Width of the residual stream."),
    layers: size().max(1000).default(4).describe("Decoder blocks."),
    heads: size().default(4).describe("Attention heads; divides hiddenSize."),
    keyValueHeads: size().optional().describe("Heads of keys and values; divides heads. As many as heads when absent."),
    intermediateSize: size().optional().describe("Width of the feed-forward layers. 4 x hiddenSize when absent."),
    maxLength: size().default(512).describe("The most tokens of one sequence."),
    tieEmbeddings: z.boolean().default(true).describe("Use the embedding matrix as the output head too."),
    ropeTheta: z.number().positive().default(10_000).describe("Base of the rotary positions."),
    normEpsilon: z.number().positive().default(1e-6).describe("Added under the root of each normalisation."),
    initializerRange: z
      .number()
      .positive()
      .optional()
      .describe("Standard deviation of the random weights. hiddenSize to the power of -0.5 when absent."),
  })
  .check((context) => {
    const { hiddenSize, heads, keyValueHeads = heads } = context.value;
    if (hiddenSize % (2 * heads) !== 0) {
      const message = `hiddenSize must be an even multiple of heads (${heads}), for rotary positions need pairs`;
      context.issues.push({ code: "custom", message, input: hiddenSize, path: ["hiddenSize"] });
    }
    if (heads % keyValueHeads !== 0) {
      const message = `keyValueHeads must divide heads (${heads})`;
      context.issues.push({ code: "custom", message, input: keyValueHeads, path: ["keyValueHeads"] });
    }
  });

const adapterSchema = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("lora"),
    start: z
      .enum(["continue", "merge"])
      .optional()
      .describe(
        "If path is an adapter. continue: train it on, also when absent; merge: a new one on the merged model.",
      ),
    rank: size().optional().describe("Rank of each adapter. 16 when absent, or that of the adapter that is continued."),
    alpha: z
      .number()
      .positive()
      .optional()
      .describe("The update is scaled by alpha / rank. 32 when absent, or that of the adapter that is continued."),
    targets: z
      .array(z.string().min(1))
      .min(1)
      .optional()
      .describe(
        "Linear layers that get one, such as q_proj, c_attn or mlp.c_proj. When absent, every one, or those of the adapter that is continued.",
      ),
    dropout: z
      .number()
      .min(0)
      .lt(1)
      .optional()
      .describe(
        "Share of each adapter's inputs that is dropped while sft learns; without effect elsewhere. 0 when absent.",
      ),
  }),
  z.strictObject({ type: z.literal("full") }),
]);

/** The `model` section. */
export const modelConfigSchema: z.ZodType<ModelConfig> = z
  .strictObject({
    path: z
      .string()
      .min(1)
      .optional()
      .describe(
        "A Hugging Face folder, a PEFT adapter, a hub id (owner/name), or the folder of a run, team or checkpoint.",
      ),
    revision: z.string().min(1).optional().describe("Branch, tag or commit of a hub id."),
    base: z
      .string()
      .min(1)
      .optional()
      .describe("If path is an adapter: the model that it adapts, instead of the one that the adapter names."),
    chatTemplate: z
      .string()
      .min(1)
      .optional()
      .describe(
        "A Jinja file in place of the model's chat template. none: prompts are the plain texts of the messages, for base models.",
      ),
    templateVariables: templateVariablesSchema
      .optional()
      .describe("What the chat template sees by name, such as enable_thinking: false. The export's template keeps it."),
    scratch: scratchSchema.optional().describe("A new model with random weights over bytes, instead of path."),
    adapter: adapterSchema
      .default({ type: "full" })
      .describe("lora: train low-rank adapters; full: train every weight."),
    device: z
      .enum(["auto", "cpu", "webgpu", "cuda", "coreml", "dml"])
      .default("auto")
      .describe("What runs the model; auto takes the fastest that works."),
    precision: z
      .enum(["float32", "float16"])
      .optional()
      .describe(
        "What matrix products are computed in while training; float16 on cuda and webgpu. float32 when absent.",
      ),
    deviceIndex: z
      .int()
      .min(0)
      .optional()
      .describe("Which of several GPUs, from 0, on cuda and dml. The first when absent."),
    threads: size().optional().describe("CPU threads; one per core when absent."),
  })
  .check((context) => {
    const { path, scratch, revision, base, chatTemplate, templateVariables } = context.value;
    if ((path === undefined) === (scratch === undefined)) {
      const message = "give either path (a model to load) or scratch (the shape of a new one)";
      context.issues.push({ code: "custom", message, input: context.value, path: [] });
    } else if (revision !== undefined && path === undefined) {
      const message = "a revision belongs to a hub id in path";
      context.issues.push({ code: "custom", message, input: revision, path: ["revision"] });
    } else if (base !== undefined && path === undefined) {
      const message = "a base belongs to an adapter in path";
      context.issues.push({ code: "custom", message, input: base, path: ["base"] });
    } else if (chatTemplate !== undefined && path === undefined) {
      const message = "a chat template belongs to a model in path: models from scratch have one of their own";
      context.issues.push({ code: "custom", message, input: chatTemplate, path: ["chatTemplate"] });
    } else if (templateVariables !== undefined && (path === undefined || chatTemplate === "none")) {
      const message = "variables are for a chat template: give path, and no chatTemplate: none";
      context.issues.push({ code: "custom", message, input: templateVariables, path: ["templateVariables"] });
    }
  });

/** What the random parts of a model derive from. */
export interface ModelSeeds {
  /** The run's. */
  readonly seed: number;
  /** The place of the model's learner among those of the run; 0 by default. */
  readonly learner?: number;
  readonly critic?: boolean;
}

/**
 * The model to train, as a backend opens it. Random weights depend on the run's seed alone, so that learners share a
 * base; adapters depend on the learner too.
 */
export function policySpec(config: ModelConfig, seeds: ModelSeeds): ModelSpec {
  return { source: modelSource(config, seeds.seed), trainable: trainableSpec(config.adapter, adapterSeed(seeds)) };
}

/** The same model before any training, frozen: the base, with the adapter that the training begins with if there is one. */
export function referenceSpec(config: ModelConfig, seeds: ModelSeeds): ModelSpec {
  return { source: modelSource(config, seeds.seed), trainable: { type: "frozen" } };
}

function modelSource(config: ModelConfig, seed: number): ModelSource {
  if (config.scratch !== undefined) {
    return { type: "scratch", config: huggingFaceConfig(config.scratch), seed: deriveSeed(seed, "weights") };
  }
  const { path = "", revision, base, chatTemplate, templateVariables } = config;
  return {
    type: "pretrained",
    path,
    ...(revision === undefined ? {} : { revision }),
    ...(base === undefined ? {} : { base }),
    ...(chatTemplate === undefined ? {} : { chatTemplate }),
    ...(templateVariables === undefined ? {} : { templateVariables }),
  };
}

function adapterSeed({ seed, learner = 0, critic = false }: ModelSeeds): number {
  if (critic) return deriveSeed(seed, "critic", learner);
  return learner === 0 ? deriveSeed(seed, "adapter") : deriveSeed(seed, "adapter", learner);
}

function trainableSpec(adapter: AdapterConfig, seed: number): TrainableSpec {
  if (adapter.type === "full") return { type: "full" };
  const { start, rank, alpha, targets, dropout } = adapter;
  return {
    type: "lora",
    ...(start === undefined ? {} : { start }),
    lora: {
      seed,
      ...(rank === undefined ? {} : { rank }),
      ...(alpha === undefined ? {} : { alpha }),
      ...(targets === undefined ? {} : { targets }),
      ...(dropout === undefined ? {} : { dropout }),
    },
  };
}

/** The keys of a Hugging Face `config.json`. */
function huggingFaceConfig(scratch: ScratchModelConfig): Readonly<Record<string, unknown>> {
  const { family, hiddenSize, heads } = scratch;
  return {
    model_type: family,
    architectures: [{ llama: "LlamaForCausalLM", qwen2: "Qwen2ForCausalLM", qwen3: "Qwen3ForCausalLM" }[family]],
    vocab_size: createByteTokenizer().vocabularySize,
    hidden_size: hiddenSize,
    num_hidden_layers: scratch.layers,
    num_attention_heads: heads,
    num_key_value_heads: scratch.keyValueHeads ?? heads,
    head_dim: hiddenSize / heads,
    intermediate_size: scratch.intermediateSize ?? 4 * hiddenSize,
    max_position_embeddings: scratch.maxLength,
    tie_word_embeddings: scratch.tieEmbeddings,
    rope_theta: scratch.ropeTheta,
    rms_norm_eps: scratch.normEpsilon,
    initializer_range: scratch.initializerRange ?? hiddenSize ** -0.5,
    hidden_act: "silu",
  };
}
