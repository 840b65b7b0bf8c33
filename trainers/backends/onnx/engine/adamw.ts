import type { AdamParams } from "../../../backend/training-backend.ts";
import type { ParameterSpec } from "../../../model-folders/architecture/parameters.ts";
import type { ParameterBlock } from "../models/parameter-block.ts";
import type { GradientPart } from "./gradient-sum.ts";

/** The running moments of one parameter block. */
export interface AdamState {
  /** The number of steps taken. */
  step: number;
  readonly firstMoment: Float32Array;
  readonly secondMoment: Float32Array;
}

export function createAdamState(length: number): AdamState {
  return { step: 0, firstMoment: new Float32Array(length), secondMoment: new Float32Array(length) };
}

/**
 * True if weight decay applies to a parameter: to matrices and embeddings, but not to biases and norm weights. These
 * are the parameters that `transformers` decays (`Trainer.get_decay_parameter_names`).
 */
export function isDecayed({ shape }: Pick<ParameterSpec, "shape">): boolean {
  return shape.length > 1;
}

/**
 * Applies one step of AdamW in place (Loshchilov and Hutter 2017, https://arxiv.org/abs/1711.05101, algorithm 2), with
 * bias-corrected moments and decoupled weight decay. Parameters that are not {@link isDecayed} have no weight decay.
 * `gradient` lists parts of the block. It is multiplied by `scale` first (gradient clipping).
 */
export function adamWStep(options: {
  readonly weights: ParameterBlock;
  readonly gradient: readonly GradientPart[];
  readonly state: AdamState;
  readonly params: AdamParams;
  readonly scale: number;
}): void {
  const { weights, state, params, scale } = options;
  state.step += 1;
  const [first, second] = [weights.over(state.firstMoment), weights.over(state.secondMoment)];
  for (const { names, gradient } of options.gradient) {
    const values = weights.stacked(names);
    updatePart({
      weights: values.data,
      gradient,
      firstMoment: first.stacked(names).data,
      secondMoment: second.stacked(names).data,
      step: state.step,
      params: isDecayed(values) ? params : { ...params, weightDecay: 0 },
      scale,
    });
  }
}

function updatePart(options: {
  readonly weights: Float32Array;
  readonly gradient: Float32Array;
  readonly firstMoment: Float32Array;
  readonly secondMoment: Float32Array;
  readonly step: number;
  readonly params: AdamParams;
  readonly scale: number;
}): void {
  const { weights, gradient, firstMoment, secondMoment, step, scale } = options;
  const { learningRate, beta1, beta2, epsilon, weightDecay } = options.params;
  const correction1 = 1 - beta1 ** step;
  const correction2 = Math.sqrt(1 - beta2 ** step);
  // Combines both bias corrections in one factor, so that each weight needs one division.
  const stepSize = (learningRate * correction2) / correction1;
  const floor = epsilon * correction2;
  const decay = 1 - learningRate * weightDecay;
  for (let i = 0; i < weights.length; i++) {
    const slope = gradient[i]! * scale;
    const first = beta1 * firstMoment[i]! + (1 - beta1) * slope;
    const second = beta2 * secondMoment[i]! + (1 - beta2) * slope * slope;
    firstMoment[i] = first;
    secondMoment[i] = second;
    weights[i] = weights[i]! * decay - (stepSize * first) / (Math.sqrt(second) + floor);
  }
}
