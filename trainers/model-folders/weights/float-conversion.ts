import { LyceumError } from "../../../src/contract/errors/lyceum-error.ts";
import type { Dtype } from "./safetensors-header.ts";

/** The types that can be read as floats. */
export type FloatDtype = "F64" | "F32" | "F16" | "BF16";

/** True if the type can be read as floats. */
export function isFloatDtype(dtype: Dtype): dtype is FloatDtype {
  return dtype === "F32" || dtype === "BF16" || dtype === "F16" || dtype === "F64";
}

/**
 * Converts little-endian elements of another type to float32. `bytes` must begin at a multiple of the element's size in
 * its buffer. `into` must have one place for each element. Exact except for F64, which is rounded to nearest.
 */
export function decodeFloats(
  dtype: Exclude<FloatDtype, "F32">,
  bytes: Uint8Array<ArrayBuffer>,
  into: Float32Array,
): void {
  const { buffer, byteOffset } = bytes;
  const count = into.length;
  if (dtype === "F64") into.set(new Float64Array(buffer, byteOffset, count));
  else if (dtype === "F16") into.set(new Float16Array(buffer, byteOffset, count));
  else {
    // A bfloat16 is the upper half of a float32.
    const halves = new Uint16Array(buffer, byteOffset, count);
    const words = new Uint32Array(into.buffer, into.byteOffset, count);
    for (let i = 0; i < count; i++) words[i] = halves[i]! << 16;
  }
}

/** The types that can be written. */
export type WritableDtype = "F32" | "F16" | "BF16";

/**
 * Converts float32 values to bytes of another type, rounded to nearest, ties to even. For F32 it returns a view of
 * `values` without a copy. Throws `model.unsupported` for a finite value too large for F16. BF16 has the range of
 * float32, so only the few largest values round to infinity.
 */
export function encodeFloats(dtype: WritableDtype, values: Float32Array): Uint8Array {
  if (dtype === "F32") return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  const encoded = dtype === "BF16" ? encodeBfloat16(values) : encodeFloat16(values);
  return new Uint8Array(encoded.buffer);
}

function encodeBfloat16(values: Float32Array): Uint16Array {
  const words = new Uint32Array(values.buffer, values.byteOffset, values.length);
  const halves = new Uint16Array(values.length);
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!;
    const isNan = (word & 0x7fffffff) > 0x7f800000;
    // Adding just under a half, plus one if the kept part is odd, rounds to even. A NaN must stay a NaN: its quiet bit
    // is set, because its other bits may be cut off.
    halves[i] = isNan ? (word >>> 16) | 0x40 : (word + 0x7fff + ((word >>> 16) & 1)) >>> 16;
  }
  return halves;
}

function encodeFloat16(values: Float32Array): Float16Array {
  const halves = new Float16Array(values);
  for (let i = 0; i < halves.length; i++) {
    if (Number.isFinite(halves[i]) || !Number.isFinite(values[i])) continue;
    throw new LyceumError({
      code: "model.unsupported",
      message: `The value ${values[i]} is too large for F16.`,
      hint: "Write the weights as BF16 or F32.",
    });
  }
  return halves;
}
