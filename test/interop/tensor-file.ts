import { readFile } from "node:fs/promises";

/** A float32 array with its shape. */
export interface Tensor {
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

/**
 * Reads a safetensors file of float32 tensors. Lyceum's own reader is under test here, so it is not used for the files
 * of the reference programs.
 */
export async function readTensorFile(path: string): Promise<Map<string, Tensor>> {
  const file = await readFile(path);
  const headerEnd = 8 + Number(file.readBigUInt64LE(0));
  const header = JSON.parse(file.toString("utf8", 8, headerEnd)) as Record<string, TensorInfo>;
  const tensors = new Map<string, Tensor>();
  for (const [name, info] of Object.entries(header)) {
    if (name === "__metadata__") continue;
    if (info.dtype !== "F32") throw new Error(`${path}: ${name} is ${info.dtype}, not F32.`);
    const [start, end] = info.data_offsets;
    const bytes = Uint8Array.from(file.subarray(headerEnd + start, headerEnd + end));
    tensors.set(name, { shape: info.shape, data: new Float32Array(bytes.buffer) });
  }
  return tensors;
}

interface TensorInfo {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data_offsets: readonly [number, number];
}
