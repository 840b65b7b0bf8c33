import type { TokenSupport } from "../../src/contract/token-support.ts";

/**
 * One sequence to train on. All arrays except `tokens` are per target. Entry t refers to `targets[t]`, the token that
 * follows `tokens[t]`. So `targets` is `tokens` shifted by one, and every array has the length of `tokens`.
 */
export interface Datum {
  readonly tokens: Int32Array;
  readonly targets: Int32Array;
  /** 1 for targets that are trained on, 0 for context. A value in between scales a cross-entropy term. */
  readonly lossMask: Float32Array;
  /** Advantages, scaled so that the sum over tokens is the desired average. */
  readonly advantages?: Float32Array;
  /** Log-probabilities under the policy that sampled. */
  readonly behaviourLogprobs?: Float32Array;
  /** Log-probabilities under the frozen reference. */
  readonly referenceLogprobs?: Float32Array;
  /**
   * The targets of the value head. Entry t is the target of V_t, the head's output at `tokens[t]`, the state in which
   * `targets[t]` was sampled. Never scaled: the loss mask weights a value term.
   */
  readonly returns?: Float32Array;
  /** V_t when the data were collected. A clipped value term stays near it. */
  readonly oldValues?: Float32Array;
  /**
   * The tokens from which each target was drawn. Null means all tokens. The log-probability of the target, the entropy
   * and their gradients are then those of the distribution over these tokens alone, renormalized. If absent, all tokens
   * for every target. A target must be in its own support.
   */
  readonly supports?: readonly TokenSupport[];
  /** The sampling temperature. Logits are divided by it before log-probabilities are computed. 1 by default. */
  readonly temperature?: number;
  readonly weightsVersion?: number;
}

/** Creates a datum from a sequence and its mask. The targets are the ids shifted by one. The last id has no target. */
export function datumFromIds(options: {
  readonly ids: readonly number[];
  /** One per id: 1 if the id is trained on. */
  readonly mask: readonly number[];
  /** One per id. */
  readonly logprobs?: readonly number[];
  /** One per id. */
  readonly supports?: readonly TokenSupport[];
  readonly temperature?: number;
  readonly weightsVersion?: number;
}): Datum {
  const { ids, mask, logprobs, supports } = options;
  const length = Math.max(0, ids.length - 1);
  return {
    tokens: Int32Array.from(ids.slice(0, length)),
    targets: Int32Array.from(ids.slice(1)),
    lossMask: Float32Array.from(mask.slice(1)),
    ...(logprobs === undefined ? {} : { behaviourLogprobs: Float32Array.from(logprobs.slice(1)) }),
    ...(supports === undefined ? {} : { supports: supports.slice(1) }),
    ...(options.temperature === undefined ? {} : { temperature: options.temperature }),
    ...(options.weightsVersion === undefined ? {} : { weightsVersion: options.weightsVersion }),
  };
}
