import type { Json } from "../../src/contract/json.ts";

/** The small tokenizers of python/make_tokenizers.py. */
export const tokenizerKinds = ["smollm", "llama3", "qwen", "sentencepiece", "metaspace"] as const;

/** The settings of a tiny random checkpoint (python/make_checkpoints.py). */
export interface TinyCheckpoint {
  readonly name: string;
  readonly tokenizer: (typeof tokenizerKinds)[number];
  readonly config: Readonly<Record<string, Json>>;
  readonly dtype: "float32" | "float16" | "bfloat16";
  /** Absent: one file. */
  readonly maxShardSize?: string;
  readonly configForm: "current" | "legacy";
}

/** At least as many as each tokenizer has ids. Some checkpoints are padded beyond it, like those of Qwen. */
export const tinyVocabularySize = 640;

const shape = {
  vocab_size: tinyVocabularySize,
  hidden_size: 64,
  intermediate_size: 160,
  num_hidden_layers: 3,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  max_position_embeddings: 512,
  rms_norm_eps: 1e-5,
};

/** With 16 dimensions per head and these bounds, some rotary frequencies are kept, some blended, some divided. */
const llama3Rope = {
  rope_type: "llama3",
  rope_theta: 10_000,
  factor: 8,
  low_freq_factor: 1,
  high_freq_factor: 4,
  original_max_position_embeddings: 64,
};

/** For families whose defaults are outside of a tiny vocabulary. */
const specialIds = { bos_token_id: 1, eos_token_id: 2, pad_token_id: null };

const gpt2Shape = {
  model_type: "gpt2",
  vocab_size: tinyVocabularySize,
  n_embd: 64,
  n_layer: 3,
  n_head: 4,
  n_positions: 512,
};

const plainRope = (theta: number): Json => ({ rope_type: "default", rope_theta: theta });

/** Two sets of layers for adapters on a checkpoint: every linear layer, and some of them. */
export function adapterTargets({ config }: Pick<TinyCheckpoint, "config">): {
  readonly all: readonly string[];
  readonly some: readonly string[];
} {
  switch (config.model_type) {
    case "gpt2":
      return { all: ["c_attn", "c_proj", "c_fc"], some: ["c_attn", "mlp.c_proj"] };
    case "phi3":
      return { all: ["qkv_proj", "o_proj", "gate_up_proj", "down_proj"], some: ["qkv_proj", "down_proj"] };
    case "starcoder2":
      return { all: ["q_proj", "k_proj", "v_proj", "o_proj", "c_fc", "c_proj"], some: ["q_proj", "v_proj", "c_proj"] };
    default:
      return {
        all: ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
        some: ["q_proj", "v_proj"],
      };
  }
}

/** One checkpoint of each family. Together they have every storage type, tied or untied weights, sharded or not. */
const quickNames = [
  "llama-llama3-rope",
  "gemma3",
  "qwen2-tied-f16",
  "qwen2-padded-sharded",
  "qwen3-narrow-heads-sharded-f16",
  "gpt2",
  "starcoder2-window",
];

/** The checkpoints of the whole suite, or of its quick part. */
export function tinyCheckpoints(quick: boolean): readonly TinyCheckpoint[] {
  return quick ? allCheckpoints.filter(({ name }) => quickNames.includes(name)) : allCheckpoints;
}

/** Every family, storage type and config form at least once. */
const allCheckpoints: readonly TinyCheckpoint[] = [
  {
    name: "llama-llama3-rope",
    tokenizer: "llama3",
    config: { ...shape, model_type: "llama", rope_parameters: llama3Rope, tie_word_embeddings: false },
    dtype: "float32",
    configForm: "current",
  },
  {
    name: "llama-llama3-rope-legacy-bf16",
    tokenizer: "llama3",
    config: { ...shape, model_type: "llama", rope_parameters: llama3Rope, tie_word_embeddings: true },
    dtype: "bfloat16",
    configForm: "legacy",
  },
  {
    name: "llama-multi-head-sharded",
    tokenizer: "sentencepiece",
    config: {
      ...shape,
      model_type: "llama",
      num_key_value_heads: 4,
      rope_parameters: plainRope(10_000),
      tie_word_embeddings: false,
    },
    dtype: "float32",
    maxShardSize: "200KB",
    configForm: "legacy",
  },
  {
    name: "smollm2-bf16",
    tokenizer: "smollm",
    config: {
      ...shape,
      model_type: "llama",
      hidden_size: 48,
      num_attention_heads: 3,
      num_key_value_heads: 1,
      rope_parameters: plainRope(100_000),
      tie_word_embeddings: true,
    },
    dtype: "bfloat16",
    configForm: "current",
  },
  {
    name: "qwen2-tied-f16",
    tokenizer: "qwen",
    config: {
      ...shape,
      model_type: "qwen2",
      rms_norm_eps: 1e-6,
      rope_parameters: plainRope(1_000_000),
      tie_word_embeddings: true,
    },
    dtype: "float16",
    configForm: "legacy",
  },
  {
    name: "qwen2-padded-sharded",
    tokenizer: "qwen",
    config: {
      ...shape,
      model_type: "qwen2",
      vocab_size: tinyVocabularySize + 56,
      rope_parameters: plainRope(1_000_000),
      tie_word_embeddings: false,
    },
    dtype: "bfloat16",
    maxShardSize: "100KB",
    configForm: "current",
  },
  {
    name: "qwen3-wide-heads",
    tokenizer: "qwen",
    config: {
      ...shape,
      model_type: "qwen3",
      head_dim: 32,
      rms_norm_eps: 1e-6,
      rope_parameters: plainRope(1_000_000),
      tie_word_embeddings: true,
    },
    dtype: "float32",
    configForm: "current",
  },
  {
    name: "qwen3-narrow-heads-sharded-f16",
    tokenizer: "qwen",
    config: {
      ...shape,
      model_type: "qwen3",
      head_dim: 8,
      num_key_value_heads: 1,
      rope_parameters: plainRope(5_000_000),
      tie_word_embeddings: false,
    },
    dtype: "float16",
    maxShardSize: "150KB",
    configForm: "legacy",
  },
  {
    name: "llama-biases",
    tokenizer: "metaspace",
    config: {
      ...shape,
      model_type: "llama",
      attention_bias: true,
      mlp_bias: true,
      rope_parameters: plainRope(10_000),
      tie_word_embeddings: false,
    },
    dtype: "float32",
    configForm: "current",
  },
  {
    name: "smollm3-no-rope-layers",
    tokenizer: "llama3",
    config: {
      ...shape,
      model_type: "smollm3",
      num_hidden_layers: 4,
      no_rope_layer_interval: 2,
      rope_parameters: plainRope(2_000_000),
      tie_word_embeddings: true,
      use_sliding_window: false,
      // Its defaults are outside of a tiny vocabulary.
      bos_token_id: 1,
      eos_token_id: 2,
      pad_token_id: null,
    },
    dtype: "bfloat16",
    configForm: "current",
  },
  {
    name: "gpt2",
    tokenizer: "smollm",
    config: { ...gpt2Shape, ...specialIds },
    dtype: "float32",
    configForm: "current",
  },
  {
    name: "gpt2-untied-exact-gelu-sharded-f16",
    tokenizer: "smollm",
    config: {
      ...gpt2Shape,
      ...specialIds,
      // An odd number of head dimensions, which no rotary family supports.
      n_embd: 60,
      n_inner: 100,
      activation_function: "gelu",
      tie_word_embeddings: false,
    },
    dtype: "float16",
    maxShardSize: "100KB",
    configForm: "current",
  },
  {
    name: "starcoder2-window",
    tokenizer: "smollm",
    config: {
      ...shape,
      ...specialIds,
      model_type: "starcoder2",
      sliding_window: 24,
      rope_parameters: plainRope(100_000),
    },
    dtype: "float32",
    configForm: "current",
  },
  {
    name: "starcoder2-untied-no-bias-legacy-bf16",
    tokenizer: "smollm",
    config: {
      ...shape,
      ...specialIds,
      model_type: "starcoder2",
      use_bias: false,
      rope_parameters: plainRope(999_999),
      tie_word_embeddings: false,
    },
    dtype: "bfloat16",
    configForm: "legacy",
  },
  {
    name: "qwen2-window-in-late-layers",
    tokenizer: "qwen",
    config: {
      ...shape,
      model_type: "qwen2",
      use_sliding_window: true,
      sliding_window: 16,
      max_window_layers: 1,
      rope_parameters: plainRope(1_000_000),
      tie_word_embeddings: true,
    },
    dtype: "float32",
    configForm: "current",
  },
  {
    name: "mistral-window",
    tokenizer: "sentencepiece",
    config: {
      ...shape,
      ...specialIds,
      model_type: "mistral",
      sliding_window: 24,
      rope_parameters: plainRope(10_000),
      tie_word_embeddings: false,
    },
    dtype: "float32",
    configForm: "current",
  },
  {
    name: "mistral-no-window-legacy-bf16",
    tokenizer: "sentencepiece",
    config: {
      ...shape,
      ...specialIds,
      model_type: "mistral",
      head_dim: 32,
      sliding_window: null,
      rope_parameters: plainRope(1_000_000),
      tie_word_embeddings: false,
    },
    dtype: "bfloat16",
    configForm: "legacy",
  },
  {
    name: "phi3-window-sharded-f16",
    tokenizer: "sentencepiece",
    config: {
      ...shape,
      ...specialIds,
      model_type: "phi3",
      sliding_window: 23,
      rope_parameters: plainRope(10_000),
      tie_word_embeddings: false,
    },
    dtype: "float16",
    maxShardSize: "100KB",
    configForm: "current",
  },
  {
    name: "gemma3",
    tokenizer: "metaspace",
    config: {
      ...shape,
      ...specialIds,
      model_type: "gemma3_text",
      head_dim: 24,
      query_pre_attn_scalar: 40,
      num_hidden_layers: 4,
      sliding_window: 16,
      layer_types: ["sliding_attention", "full_attention", "sliding_attention", "full_attention"],
      rope_parameters: {
        full_attention: { rope_type: "linear", rope_theta: 1_000_000, factor: 8 },
        sliding_attention: plainRope(10_000),
      },
    },
    dtype: "bfloat16",
    configForm: "current",
  },
];
