import type { TokenSupport } from "../../src/contract/token-support.ts";

/**
 * One sequence to train on. All arrays but `tokens` are per target: entry t speaks of `targets[t]`, the token that
 * follows `tokens[t]`. So `targets` is `tokens` shifted by one, and every array has the length of `tokens`.
 */
export interface Datum {
  readonly tokens: Int32Array;
  readonly targets: Int32Array;
  /** 1 where the target counts, 0 where it is only context. A weight between them scales a cross-entropy term. */
  readonly lossMask: Float32Array;
  /** Scaled so that summing over tokens gives the wanted average. */
  readonly advantages?: Float32Array;
  /** Log-probabilities under the policy that sampled. */
  readonly behaviourLogprobs?: Float32Array;
  /** Log-probabilities under the frozen reference. */
  readonly referenceLogprobs?: Float32Array;
  /**
   * What the value head is to learn: the target of V_t, the head's output at `tokens[t]`, the state in which
   * `targets[t]` was sampled. Never scaled: the loss mask weighs a value term.
   */
  readonly returns?: Float32Array;
  /** V_t when the data were gathered: what a clipped value term stays near. */
  readonly oldValues?: Float32Array;
  /**
   * The tokens that each target was drawn from; null for every token. Every log-probability of the target, its
   * entropy, and their gradients are then those of the distribution over these tokens alone, renormalised. Absent:
   * every token, everywhere. A target is among its own.
   */
  readonly supports?: readonly TokenSupport[];
  /** Logits are divided by it before log-probabilities are taken: the temperature that sampled. 1 by default. */
  readonly temperature?: number;
  readonly weightsVersion?: number;
}

/** A datum from a sequence and its mask: targets are the ids shifted by one, the last id has no target. */
export function datumFromIds(options: {
  readonly ids: readonly number[];
  /** One per id: 1 where the id is to be predicted. */
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
