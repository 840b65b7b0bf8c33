/**
 * Only every 997th value of a parameter is hashed. Training changes all values of a matrix, and hashing all of them
 * takes seconds.
 */
const stride = 997;

/** Returns the values of a parameter that stand for all of them in a hash. */
export function sampledValues(values: Float32Array): Float32Array {
  return Float32Array.from({ length: Math.ceil(values.length / stride) }, (_, i) => values[stride * i]!);
}
