/**
 * Only every 997th value is hashed. Training changes all values of a matrix, and hashing all of them takes seconds.
 */
const stride = 997;

/**
 * Returns the values that stand for all of them in a hash. `offset` is the place of the first value in a larger array, in
 * which the values are counted.
 */
export function sampledValues(values: Float32Array, offset = 0): Float32Array {
  const first = (stride - (offset % stride)) % stride;
  const length = Math.max(0, Math.ceil((values.length - first) / stride));
  return Float32Array.from({ length }, (_, i) => values[first + stride * i]!);
}
