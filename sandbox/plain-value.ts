/**
 * A value that enters or leaves a sandbox, as lossless JSON. Values that Python or JavaScript distinguishes stay
 * distinct (1, 1.0 and True; list and tuple; -0.0 and nan). `null` is Python's None and JavaScript's null.
 *
 * - `int`: decimal digits of any length (Python's int, JavaScript's bigint).
 * - `float`: the shortest decimal that reads back as the same number, or `nan`, `inf`, `-inf` (Python's float and every
 *   JavaScript number, including `-0.0`).
 * - `bytes`: base64. `complex`: real and imaginary part as floats.
 * - `dict` (Python's dict, JavaScript's plain object and Map): entries in order. Keys are plain values.
 * - `set` and `frozenset`: items in any order.
 */
export type PlainValue =
  | null
  | boolean
  | string
  | { readonly int: string }
  | { readonly float: string }
  | { readonly complex: readonly [string, string] }
  | { readonly bytes: string }
  | { readonly list: readonly PlainValue[] }
  | { readonly tuple: readonly PlainValue[] }
  | { readonly set: readonly PlainValue[] }
  | { readonly frozenset: readonly PlainValue[] }
  | { readonly dict: readonly (readonly [PlainValue, PlainValue])[] }
  | { readonly undefined: true };
