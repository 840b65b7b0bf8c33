import { cast } from "./elementwise.ts";
import { expandDimension, reshape, splitBy } from "./shape.ts";
import { dimension, knownDimension, type Tensor } from "./tensor.ts";

/**
 * Unpacks the bits of int32 words to booleans: (rows, words) to (rows, count). Column i is bit i % 32 of word i / 32.
 * No gradient.
 */
export function unpackBits(words: Tensor, count: number): Tensor {
  const { graph } = words;
  const [rows, width] = [dimension(words, 0), knownDimension(words, 1)];
  const each = graph.constant(
    Int32Array.from({ length: 32 }, (_, bit) => 1 << bit),
    [32],
  );
  const picked = graph.operation("BitwiseAnd", [expandDimension(words, 2), each], {
    type: "int32",
    shape: [rows, width, 32],
  });
  const bits = reshape(cast(picked, "bool"), [rows, 32 * width]);
  if (count === 32 * width) return bits;
  const names = [count, 32 * width - count];
  return splitBy(bits, 1, { sizes: graph.integers(names), names })[0]!;
}
