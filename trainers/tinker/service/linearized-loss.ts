import type { Datum } from "../../backend/datum.ts";

/** A loss of the API that the engine has no term for, of one datum. */
export interface LinearizedLoss {
  /** Returns the loss and its derivative with respect to each log-probability. */
  evaluate(options: {
    readonly datum: Datum;
    readonly logprobs: Float32Array;
    readonly inputs: Readonly<Record<string, ArrayLike<number>>>;
    readonly settings: Readonly<Record<string, number>>;
  }): { readonly value: number; readonly derivative: Float32Array };
}

/** With d = l - q: the sum of -(A l - beta d^2 / 2). Its derivative is -(A - beta d). */
export const dro: LinearizedLoss = {
  evaluate: ({ datum: { advantages, behaviourLogprobs }, logprobs, settings }) => {
    const beta = settings.beta!;
    let value = 0;
    const derivative = logprobs.map((logprob, t) => {
      const distance = logprob - behaviourLogprobs![t]!;
      value -= advantages![t]! * logprob - 0.5 * beta * distance ** 2;
      return beta * distance - advantages![t]!;
    });
    return { value, derivative };
  },
};

/**
 * The token form of GSPO (Zheng et al. 2025, https://arxiv.org/abs/2507.18071): PPO's loss with one ratio s for all
 * tokens, s = exp(mean of l - q over the tokens of `sequence_ratio_mask`). The gradient of s at token t is that of
 * s (l_t - stop(l_t)), so that the derivative is -s A_t, or 0 if the ratio is clipped.
 */
export const gspo: LinearizedLoss = {
  evaluate: ({ datum: { advantages, behaviourLogprobs }, logprobs, inputs, settings }) => {
    const mask = inputs.sequence_ratio_mask!;
    const tokens = [...logprobs.keys()].filter((t) => mask[t] !== 0);
    const sum = tokens.reduce((total, t) => total + logprobs[t]! - behaviourLogprobs![t]!, 0);
    const ratio = Math.exp(tokens.length === 0 ? 0 : sum / tokens.length);
    const clipped = Math.min(Math.max(ratio, settings.clip_low_threshold!), settings.clip_high_threshold!);
    let value = 0;
    const derivative = advantages!.map((advantage) => {
      value -= Math.min(ratio * advantage, clipped * advantage);
      return ratio * advantage <= clipped * advantage ? -ratio * advantage : 0;
    });
    return { value, derivative };
  },
};
