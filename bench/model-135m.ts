import type { ModelSource } from "../trainers/backend/training-backend.ts";

/** The shape of SmolLM2-135M, with random weights. */
export const model135m: ModelSource & { readonly type: "scratch" } = {
  type: "scratch",
  seed: 1,
  config: {
    model_type: "llama",
    vocab_size: 49_152,
    hidden_size: 576,
    intermediate_size: 1536,
    num_hidden_layers: 30,
    num_attention_heads: 9,
    num_key_value_heads: 3,
    max_position_embeddings: 8192,
    rms_norm_eps: 1e-5,
    rope_theta: 100_000,
    tie_word_embeddings: true,
    initializer_range: 0.04,
  },
};

/** Number of values in the linear layers of one block, and in the embedding matrix, which is also the head. */
const attention = 576 * (576 + 2 * 192) + 576 * 576;
const feedForward = 3 * 576 * 1536;
const head = 49_152 * 576;
const layers = 30;

/** Number of values in the adapters of one block per rank: inputs and outputs of all seven layers. */
const adapted = 576 + 576 + 2 * (576 + 192) + 576 + 576 + 3 * (576 + 1536);

/** Returns the bytes of an adapter on every linear layer, in float32. */
export function adapterBytes(rank: number): number {
  return 4 * layers * rank * adapted;
}

/**
 * Returns the floating-point operations of the matrix products in a LoRA step: frozen weights forward and by input;
 * adapters forward, by input and by weight; causal attention, half of the square, forward and backward.
 */
export function loraStepFlops(options: {
  readonly sequences: number;
  readonly length: number;
  readonly rank: number;
}): number {
  const { sequences, length, rank } = options;
  const tokens = sequences * length;
  const frozen = 2 * 2 * (layers * (attention + feedForward) + head);
  const adapters = 3 * 2 * layers * rank * adapted;
  const attended = 3 * 2 * 2 * layers * 576 * (length / 2);
  return tokens * (frozen + adapters + attended);
}

/** Bytes of weights that decoding one token reads: every linear layer and the head, in float32. */
export const decodedWeightBytes: number = 4 * (layers * (attention + feedForward) + head);

/** Bytes of keys and values that one token of context adds to the reads of decoding. */
export const cacheBytesPerToken: number = 4 * layers * 2 * 192;
