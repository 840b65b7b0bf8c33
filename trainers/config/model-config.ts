import { z } from "zod";
import { deriveSeed } from "../../src/core/random/random.ts";
import { createByteTokenizer } from "../../src/core/tokens/byte-tokenizer.ts";
import { templateVariablesSchema } from "../../src/core/tokens/template-variables.ts";
import type { ModelSource, ModelSpec, TrainableSpec } from "../backend/training-backend.ts";
import type { Immutable } from "./immutable.ts";

/** The device that runs a model. `auto` selects the fastest one that works. */
export type Device = "auto" | "cpu" | "webgpu" | "cuda" | "coreml" | "dml";

const size = (): z.ZodNumber => z.int().positive();

const scratchSchema = z
  .strictObject({
    family: z.enum(["llama", "qwen2", "qwen3"]).default("llama").describe("The architecture."),
    hiddenSize: size().default(128).describe("Width of the residual stream."),
    layers: size().max(1000).default(4).describe("Decoder blocks."),
    heads: size().default(4).describe("Attention heads; twice their number divides hiddenSize."),
    keyValueHeads: size().optional().describe("Key-value heads; divides heads. Equal to heads when absent."),
    intermediateSize: size().optional().describe("Width of the feed-forward layers. 4 x hiddenSize when absent."),
    maxLength: size().default(512).describe("The largest number of tokens of one sequence."),
    tieEmbeddings: z.boolean().default(true).describe("Use the embedding matrix as the output head."),
    ropeTheta: z.number().positive().default(10_000).describe("Base of the rotary position embeddings."),
    normEpsilon: z.number().positive().default(1e-6).describe("Epsilon of the RMS norms, added under the root."),
    initializerRange: z
      .number()
      .positive()
      .optional()
      .describe("Standard deviation of the random weights. hiddenSize to the power of -0.5 when absent."),
  })
  .check((context) => {
    const { hiddenSize, heads, keyValueHeads = heads } = context.value;
    if (hiddenSize % (2 * heads) !== 0) {
      const message = `hiddenSize must be an even multiple of heads (${heads}), because rotary positions need pairs`;
      context.issues.push({ code: "custom", message, input: hiddenSize, path: ["hiddenSize"] });
    }
    if (heads % keyValueHeads !== 0) {
      const message = `keyValueHeads must divide heads (${heads})`;
      context.issues.push({ code: "custom", message, input: keyValueHeads, path: ["keyValueHeads"] });
    }
  })
  .transform(({ keyValueHeads, intermediateSize, initializerRange, ...scratch }) => ({
    ...scratch,
    keyValueHeads: keyValueHeads ?? scratch.heads,
    intermediateSize: intermediateSize ?? 4 * scratch.hiddenSize,
    initializerRange: initializerRange ?? scratch.hiddenSize ** -0.5,
  }));

const adapterSchema = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("lora"),
    start: z
      .enum(["continue", "merge"])
      .default("continue")
      .describe("What happens if path is an adapter. continue: train it further; merge: merge it and train a new one."),
    rank: size()
      .optional()
      .describe("Rank of each adapter. When absent: 16, or the rank of the adapter that is continued."),
    alpha: z
      .number()
      .positive()
      .optional()
      .describe(
        "The adapter's output is scaled by alpha / rank. When absent: 32, or the alpha of the adapter that is continued.",
      ),
    targets: z
      .array(z.string().min(1))
      .min(1)
      .optional()
      .describe(
        "Linear layers that get an adapter, such as q_proj, c_attn or mlp.c_proj. When absent: all, or those of the adapter that is continued.",
      ),
    dropout: z
      .number()
      .min(0)
      .lt(1)
      .default(0)
      .describe("Share of each adapter's inputs that is dropped in SFT. Has no effect in other algorithms."),
  }),
  z.strictObject({ type: z.literal("full") }),
]);

/** The schema of the section `model`. */
export const modelConfigSchema = z
  .strictObject({
    path: z
      .string()
      .min(1)
      .optional()
      .describe(
        "A Hugging Face folder, a PEFT adapter, a hub id (owner/name), a GGUF file (also hf:owner/name/FILE.gguf), or the folder of a run, team or checkpoint.",
      ),
    revision: z.string().min(1).optional().describe("Branch, tag or commit of a hub id."),
    base: z
      .string()
      .min(1)
      .optional()
      .describe("If path is an adapter: its base model, instead of the one that the adapter names."),
    chatTemplate: z
      .string()
      .min(1)
      .optional()
      .describe(
        "A Jinja file that replaces the model's chat template. none: prompts are the plain texts of the messages, for base models.",
      ),
    templateVariables: templateVariablesSchema
      .optional()
      .describe(
        "Variables of the chat template, such as enable_thinking: false. They are built into the exported template.",
      ),
    scratch: scratchSchema
      .optional()
      .describe("A new model with random weights and a byte tokenizer, instead of path."),
    adapter: adapterSchema
      .default({ type: "full" })
      .describe("lora: train low-rank adapters; full: train every weight."),
    device: z
      .enum(["auto", "cpu", "webgpu", "cuda", "coreml", "dml"])
      .default("auto")
      .describe("The device that runs the model. auto selects the fastest one that works."),
    precision: z
      .enum(["float32", "float16"])
      .default("float32")
      .describe("Precision of matrix products in training. float16 works on cuda and webgpu."),
    deviceIndex: z.int().min(0).optional().describe("Index of the GPU, from 0, on cuda and dml. 0 when absent."),
    threads: size().optional().describe("CPU threads. `OMP_NUM_THREADS`, or one per core, when absent."),
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
      const message = "a chat template belongs to a model in path: models from scratch have their own";
      context.issues.push({ code: "custom", message, input: chatTemplate, path: ["chatTemplate"] });
    } else if (templateVariables !== undefined && (path === undefined || chatTemplate === "none")) {
      const message = "template variables need a chat template: give path, and do not set chatTemplate: none";
      context.issues.push({ code: "custom", message, input: templateVariables, path: ["templateVariables"] });
    }
  });

/** The model to train, the parameters to train, and the device. The schema above describes each key. */
export type ModelConfig = Immutable<z.output<typeof modelConfigSchema>>;

/** A {@link ModelConfig} in which keys with a default are optional. */
export type ModelConfigInput = Immutable<z.input<typeof modelConfigSchema>>;

/** The seeds of the random parts of a model. */
export interface ModelSeeds {
  /** The seed of the run. */
  readonly seed: number;
  /** The index of the model's learner in the run. 0 by default. */
  readonly learner?: number;
  readonly critic?: boolean;
}

/**
 * Returns the spec of the model to train. Random weights depend only on the run's seed, so that learners share a base.
 * Adapters also depend on the learner.
 */
export function policySpec(config: ModelConfig, seeds: ModelSeeds): ModelSpec {
  return { source: modelSource(config, seeds.seed), trainable: trainableSpec(config.adapter, adapterSeed(seeds)) };
}

/**
 * Returns the spec of the model before any training, frozen: the base, with the adapter that the training starts from,
 * if any.
 */
export function referenceSpec(config: ModelOrigin, seeds: ModelSeeds): ModelSpec {
  return { source: modelSource(config, seeds.seed), trainable: { type: "frozen" } };
}

/** The keys of a model config that name where its weights come from. */
type ModelOrigin = Pick<ModelConfig, "path" | "revision" | "base" | "chatTemplate" | "templateVariables" | "scratch">;

function modelSource(config: ModelOrigin, seed: number): ModelSource {
  if (config.scratch !== undefined) {
    return { type: "scratch", config: huggingFaceConfig(config.scratch), seed: deriveSeed(seed, "weights") };
  }
  const { path = "", revision, base, chatTemplate, templateVariables } = config;
  return { type: "pretrained", path, revision, base, chatTemplate, templateVariables };
}

function adapterSeed({ seed, learner = 0, critic = false }: ModelSeeds): number {
  if (critic) return deriveSeed(seed, "critic", learner);
  return learner === 0 ? deriveSeed(seed, "adapter") : deriveSeed(seed, "adapter", learner);
}

function trainableSpec(adapter: ModelConfig["adapter"], seed: number): TrainableSpec {
  if (adapter.type === "full") return { type: "full" };
  const { start, rank, alpha, targets, dropout } = adapter;
  return { type: "lora", start, lora: { seed, dropout, rank, alpha, targets } };
}

/** Returns the keys of a Hugging Face `config.json`. */
function huggingFaceConfig(scratch: NonNullable<ModelConfig["scratch"]>): Readonly<Record<string, unknown>> {
  const { family, hiddenSize, heads } = scratch;
  return {
    model_type: family,
    architectures: [{ llama: "LlamaForCausalLM", qwen2: "Qwen2ForCausalLM", qwen3: "Qwen3ForCausalLM" }[family]],
    vocab_size: createByteTokenizer().vocabularySize,
    hidden_size: hiddenSize,
    num_hidden_layers: scratch.layers,
    num_attention_heads: heads,
    num_key_value_heads: scratch.keyValueHeads,
    head_dim: hiddenSize / heads,
    intermediate_size: scratch.intermediateSize,
    max_position_embeddings: scratch.maxLength,
    tie_word_embeddings: scratch.tieEmbeddings,
    rope_theta: scratch.ropeTheta,
    rms_norm_eps: scratch.normEpsilon,
    initializer_range: scratch.initializerRange,
    hidden_act: "silu",
  };
}
