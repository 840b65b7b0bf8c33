/** What the value loss looks at for one token. */
export interface ValueInput {
  /** V, the value head's output under the current weights. */
  readonly prediction: number;
  /** R, the return that it is to predict. */
  readonly target: number;
  /** V', the output when the data were gathered. Read where the loss is clipped. */
  readonly oldPrediction?: number;
  /** The loss mask, which scales the loss. */
  readonly mask: number;
}

/** A value loss at one token, and its derivative with respect to `prediction`. */
export interface ValueLoss {
  readonly value: number;
  readonly derivative: number;
}

/**
 * w (V - R)^2; with `clip`, w max((V - R)^2, (clip(V, V' - clip, V' + clip) - R)^2). The second is the greater only
 * where V has left the range towards R, and has no derivative there (`ppo2` of https://github.com/openai/baselines).
 */
export function valueLoss(input: ValueInput, clip: number = Number.POSITIVE_INFINITY): ValueLoss {
  const { prediction, target, oldPrediction = prediction, mask } = input;
  const error = prediction - target;
  const clippedError = Math.min(Math.max(prediction, oldPrediction - clip), oldPrediction + clip) - target;
  if (clippedError ** 2 > error ** 2) return { value: mask * clippedError ** 2, derivative: 0 };
  return { value: mask * error ** 2, derivative: 2 * mask * error };
}
