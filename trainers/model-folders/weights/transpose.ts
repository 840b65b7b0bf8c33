/** Transposes a matrix (rows, columns) to (columns, rows), in new memory. */
export function transposeMatrix(values: Float32Array, [rows, columns]: readonly number[]): Float32Array {
  const swapped = new Float32Array(values.length);
  for (let row = 0; row < rows!; row++) {
    for (let column = 0; column < columns!; column++) {
      swapped[column * rows! + row] = values[row * columns! + column]!;
    }
  }
  return swapped;
}
