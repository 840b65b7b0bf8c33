import type { ParameterSpec } from "../architecture/parameters.ts";
import { transposeMatrix } from "../weights/transpose.ts";

/** The shape that checkpoints store a parameter in. */
export function storedShape({ shape, transposed = false }: ParameterSpec): readonly number[] {
  return transposed ? shape.toReversed() : shape;
}

/** Values of a parameter as checkpoints store them. */
export function storedForm(
  spec: ParameterSpec,
  values: Float32Array,
): { readonly name: string; readonly shape: readonly number[]; readonly data: Float32Array } {
  const data = spec.transposed === true ? transposeMatrix(values, spec.shape) : values;
  return { name: spec.name, shape: storedShape(spec), data };
}
