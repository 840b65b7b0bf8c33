import type { LossTerm } from "../../../backend/loss-term.ts";
import { add, clip, maximum, multiply, subtract } from "../graph/elementwise.ts";
import { gradients } from "../graph/gradients.ts";
import { total } from "../graph/pick.ts";
import type { Tensor } from "../graph/tensor.ts";
import { stateValues } from "../models/value-head.ts";
import type { BoundTerm } from "./bound-term.ts";

/** The terms that a value head learns by. */
export type ValueTerm = Extract<LossTerm, { readonly type: "value" }>;

/** What the value loss reads at each position that carries loss: (positions) each. */
export interface ValueInputs {
  readonly mask: Tensor;
  readonly returns: Tensor;
  readonly oldValues: Tensor;
}

/** Results of a {@link valueHead}. */
export interface ValueHead {
  /** (positions) */
  readonly values: Tensor;
  /** (1) each: the sum of each term over positions. */
  readonly sums: readonly Tensor[];
  /** Gradients of the loss by the hidden states, the weight and the bias, where there are terms. */
  readonly gradients: { readonly hidden: Tensor; readonly weight: Tensor; readonly bias: Tensor } | undefined;
}

/** One number per position from its hidden state, the value terms' sums, and their gradients. */
export function valueHead(options: {
  /** (positions, hiddenSize) */
  readonly hidden: Tensor;
  /** (1, hiddenSize) */
  readonly weight: Tensor;
  /** (1) */
  readonly bias: Tensor;
  readonly terms: readonly BoundTerm<ValueTerm>[];
  /** A scalar that multiplies the gradients. */
  readonly lossScale: Tensor;
  /** Called where there are terms. */
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

/** The value of one term at each position; the formula is that of {@link LossTerm}. */
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
