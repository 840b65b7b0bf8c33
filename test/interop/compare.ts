import { expect } from "vitest";
import type { Tensor } from "./tensor-file.ts";

/** The required limit on logits: the largest absolute difference, in float32. */
export const logitTolerance = 1e-4;

/** A log-probability differs by at most the differences of its logit and of the normalizer. */
export const logprobTolerance: number = 2 * logitTolerance;

/** The required limit on gradients, relative to their norms: see {@link gradientErrors}. */
export const gradientTolerance = 1e-3;

/** The largest absolute difference. Infinite if the lengths differ or a number is not finite. */
export function largestDifference(actual: ArrayLike<number>, expected: ArrayLike<number>): number {
  if (actual.length !== expected.length) return Number.POSITIVE_INFINITY;
  let largest = 0;
  for (let i = 0; i < actual.length; i++) {
    const difference = Math.abs(actual[i]! - expected[i]!);
    if (Number.isNaN(difference)) return Number.POSITIVE_INFINITY;
    if (difference > largest) largest = difference;
  }
  return largest;
}

/**
 * For each tensor, the norm of the difference divided by the norm of the reference: |actual - expected| / |expected|. A
 * tensor whose gradient is only rounding noise (a millionth of the norm of the whole gradient) is divided by that
 * millionth instead.
 */
export function gradientErrors(
  actual: ReadonlyMap<string, Tensor>,
  expected: ReadonlyMap<string, Tensor>,
): Map<string, number> {
  const whole = Math.hypot(...[...expected.values()].map((tensor) => norm(tensor.data)));
  return new Map(
    [...expected].map(([name, tensor]) => {
      const found = actual.get(name);
      if (found === undefined || found.shape.join() !== tensor.shape.join()) return [name, Number.POSITIVE_INFINITY];
      const difference = norm(tensor.data.map((value, i) => value - found.data[i]!));
      return [name, difference / Math.max(norm(tensor.data), 1e-6 * whole)];
    }),
  );
}

/** Expects the same tensors as the reference, each within {@link gradientTolerance}. */
export function expectGradients(actual: ReadonlyMap<string, Tensor>, expected: ReadonlyMap<string, Tensor>): void {
  expect([...actual.keys()].sort()).toEqual([...expected.keys()].sort());
  const wrong = [...gradientErrors(actual, expected)].filter(([, error]) => !(error <= gradientTolerance));
  expect(wrong).toEqual([]);
}

function norm(values: Float32Array): number {
  let sum = 0;
  for (const value of values) sum += value * value;
  return Math.sqrt(sum);
}
