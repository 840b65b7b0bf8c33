import type { TokenLoss } from "./token-loss-of.ts";

/** The input of the value loss for one token. */
export interface ValueInput {
  /** V, the value head's output under the current weights. */
  readonly prediction: number;
  /** R, the return to predict. */
  readonly target: number;
  /** V', the output when the data were collected. Read if the loss is clipped. `prediction` by default. */
  readonly oldPrediction?: number;
  /** The loss mask. It scales the loss. */
  readonly mask: number;
}

/**
 * Returns w (V - R)^2 and its derivative with respect to `prediction`. With `clip`, returns w max((V - R)^2, (clip(V, V' - clip, V' + clip) - R)^2). The second error
 * is the greater one only if V has left the clip range towards R. The derivative is then 0 (`ppo2` of
 * https://github.com/openai/baselines).
 */
export function valueLoss(input: ValueInput, clip: number = Number.POSITIVE_INFINITY): TokenLoss {
  const { prediction, target, oldPrediction = prediction, mask } = input;
  const error = prediction - target;
  const clippedError = Math.min(Math.max(prediction, oldPrediction - clip), oldPrediction + clip) - target;
  if (clippedError ** 2 > error ** 2) return { value: mask * clippedError ** 2, derivative: 0 };
  return { value: mask * error ** 2, derivative: 2 * mask * error };
}
