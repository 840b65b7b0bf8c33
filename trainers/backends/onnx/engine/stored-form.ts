import type { ParameterSpec } from "../../../model-folders/architecture/parameters.ts";
import { transposeMatrix } from "../../../model-folders/weights/transpose.ts";

/** Returns the shape of a parameter in checkpoints. */
export function storedShape({ shape, transposed = false }: ParameterSpec): readonly number[] {
  return transposed ? shape.toReversed() : shape;
}

/** Returns the values of a parameter in the layout of checkpoints. */
export function storedForm(
  spec: ParameterSpec,
  values: Float32Array,
): { readonly name: string; readonly shape: readonly number[]; readonly data: Float32Array } {
  const data = spec.transposed === true ? transposeMatrix(values, spec.shape) : values;
  return { name: spec.name, shape: storedShape(spec), data };
}
