import type { Architecture } from "./architecture.ts";
import type { DecoderConfig } from "./decoder-config.ts";

/** Keys that the reading of a `config.json` uses under the same name in all families. */
const readKeys: readonly string[] = [
  "model_type",
  "quantization_config",
  "vocab_size",
  "hidden_size",
  "num_hidden_layers",
  "num_attention_heads",
  "num_key_value_heads",
  "head_dim",
  "intermediate_size",
  "max_position_embeddings",
  "rms_norm_eps",
  "hidden_act",
  "tie_word_embeddings",
  "initializer_range",
  "rope_theta",
  "rope_scaling",
  "rope_parameters",
  "partial_rotary_factor",
  "original_max_position_embeddings",
  "no_rope_layers",
  "no_rope_layer_interval",
  "sliding_window",
  "use_sliding_window",
  "max_window_layers",
  "layer_types",
];

/** Keys that do not change the computation of these families in `transformers`. */
const harmlessKeys: readonly string[] = [
  // About the files.
  "architectures",
  "dtype",
  "torch_dtype",
  "transformers_version",
  "_name_or_path",
  "transformers.js_config",
  "tokenizer_class",
  "unsloth_version",
  "unsloth_fixed",
  "is_llama_config",
  "rope_interleaved",
  "cache_implementation",
  "auto_map",
  "_sliding_window_pattern",
  // Token ids. Prompts and stops are read from the tokenizer and generation_config.json.
  "bos_token_id",
  "eos_token_id",
  "pad_token_id",
  "unk_token_id",
  "sep_token_id",
  "cls_token_id",
  "mask_token_id",
  "decoder_start_token_id",
  "forced_bos_token_id",
  "forced_eos_token_id",
  // Training of the original model, and how it was run.
  "attention_dropout",
  "resid_pdrop",
  "embd_pdrop",
  "attn_pdrop",
  "residual_dropout",
  "embedding_dropout",
  "hidden_dropout",
  "use_cache",
  "gradient_checkpointing",
  "pretraining_tp",
  "reorder_and_upcast_attn",
  "n_ctx",
  "attn_implementation",
  "_attn_implementation",
  "_attn_implementation_autoset",
  "_flash_attn_2_enabled",
  "torchscript",
  "use_bfloat16",
  "chunk_size_feed_forward",
  "tf_legacy_loss",
  "pruned_heads",
  // Outputs and heads of other tasks.
  "return_dict",
  "output_hidden_states",
  "output_attentions",
  "is_decoder",
  "is_encoder_decoder",
  "prefix",
  "id2label",
  "label2id",
  "num_labels",
  "problem_type",
  "task_specific_params",
  "finetuning_task",
  "summary_activation",
  "summary_first_dropout",
  "summary_proj_to_labels",
  "summary_type",
  "summary_use_proj",
  "classifier_dropout",
  "cross_attention_hidden_size",
  "tie_encoder_decoder",
  // Defaults of generation, which Lyceum's sampling settings replace.
  "do_sample",
  "temperature",
  "top_k",
  "top_p",
  "typical_p",
  "max_length",
  "min_length",
  "max_new_tokens",
  "num_beams",
  "num_beam_groups",
  "num_return_sequences",
  "repetition_penalty",
  "length_penalty",
  "diversity_penalty",
  "no_repeat_ngram_size",
  "encoder_no_repeat_ngram_size",
  "bad_words_ids",
  "early_stopping",
  "remove_invalid_values",
  "suppress_tokens",
  "begin_suppress_tokens",
  "exponential_decay_length_penalty",
  "output_scores",
  "return_dict_in_generate",
];

/**
 * Returns the keys of a `config.json` that were not read and may matter: `transformers` ignores them too for these
 * families, but another program may not. Keys without a value are left out.
 */
export function unreadKeys({ source, architecture }: Pick<DecoderConfig, "source" | "architecture">): string[] {
  const known = new Set([...readKeys, ...harmlessKeys, ...familyKeys(architecture)]);
  return Object.keys(source).filter((key) => !known.has(key) && (source[key] ?? undefined) !== undefined);
}

function familyKeys({ keys = {}, defaults, fixed = {}, attention, mlp }: Architecture): string[] {
  // A bias that the table rules out has a key that transformers ignores too.
  const biases = ["attention_bias", "mlp_bias", attention.inputBias, attention.outputBias, mlp.bias].filter(
    (bias) => typeof bias === "string",
  );
  return [...Object.values(keys), ...Object.keys(defaults), ...Object.keys(fixed), ...biases];
}
