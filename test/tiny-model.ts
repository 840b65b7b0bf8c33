/** The model of a training config: a decoder from scratch that trains in milliseconds. JSON of it is YAML too. */
export function tinyModel(maxLength: number) {
  return { scratch: { hiddenSize: 16, layers: 1, heads: 2, maxLength }, device: "cpu", threads: 1 } as const;
}
