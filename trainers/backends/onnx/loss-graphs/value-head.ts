import type { LossTerm } from "../../../backend/loss-term.ts";
import { add, clip, maximum, multiply, subtract } from "../graph/elementwise.ts";
import { gradients } from "../graph/gradients.ts";
import { total } from "../graph/pick.ts";
import type { Tensor } from "../graph/tensor.ts";
import { stateValues } from "../models/value-head.ts";
import type { BoundTerm } from "./bound-term.ts";

/** The loss terms of a value head. */
export type ValueTerm = Extract<LossTerm, { readonly type: "value" }>;

/** The inputs of the value loss at each position with loss. All shapes are (positions). */
export interface ValueInputs {
  readonly mask: Tensor;
  readonly returns: Tensor;
  readonly oldValues: Tensor;
}

/** The results of {@link valueHead}. */
export interface ValueHead {
  /** (positions) */
  readonly values: Tensor;
  /** The sum of each term over positions, with the shape (1). */
  readonly sums: readonly Tensor[];
  /** The gradients of the loss with respect to the hidden states, the weight and the bias. Undefined without terms. */
  readonly gradients: { readonly hidden: Tensor; readonly weight: Tensor; readonly bias: Tensor } | undefined;
}

/** Computes one value per position from its hidden state, the sums of the value terms, and their gradients. */
export function valueHead(options: {
  /** (positions, hiddenSize) */
  readonly hidden: Tensor;
  /** (1, hiddenSize) */
  readonly weight: Tensor;
  /** (1) */
  readonly bias: Tensor;
  readonly terms: readonly BoundTerm<ValueTerm>[];
  /** A scalar factor of the gradients. */
  readonly lossScale: Tensor;
  /** Called if there are terms. */
  readonly inputs: () => ValueInputs;
}): ValueHead {
  const { hidden, weight, bias, terms } = options;
  const values = stateValues(hidden, weight, bias);
  if (terms.length === 0) return { values, sums: [], gradients: undefined };
  const inputs = options.inputs();
  const losses = terms.map((bound) => valueLoss(bound, values, inputs));
  const [byHidden, byWeight, byBias] = gradients({
    outputs: losses.map((tensor) => ({ tensor, gradient: options.lossScale })),
    by: [hidden, weight, bias],
  });
  return {
    values,
    sums: losses.map(total),
    gradients: { hidden: byHidden!, weight: byWeight!, bias: byBias! },
  };
}

/** Computes one term at each position. The formula is in {@link LossTerm}. */
function valueLoss(
  { term, coefficient }: BoundTerm<ValueTerm>,
  values: Tensor,
  { mask, returns, oldValues }: ValueInputs,
): Tensor {
  const square = (x: Tensor): Tensor => multiply(x, x);
  const scale = multiply(coefficient("weight"), mask);
  const loss = square(subtract(values, returns));
  if (term.clip === undefined) return multiply(scale, loss);
  const moved = clip(subtract(values, oldValues), coefficient("low"), coefficient("high"));
  return multiply(scale, maximum(loss, square(subtract(add(oldValues, moved), returns))));
}
