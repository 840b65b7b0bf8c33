import type { DecoderConfig } from "./decoder-config.ts";
import { groupsOf } from "./linear-groups.ts";
import { embeddingName, headName, moduleName, type ParameterSpec } from "./parameters.ts";

/** The number of bits of a quantized value. */
export type Bits = 4 | 8;

/** The values of a row that share a scale. The smallest block of the runtime's products, and the most accurate. */
export const blockSize = 32;

/** How the embedded engine quantizes a base. */
export interface Quantization {
  readonly config: DecoderConfig;
  /** The bits of the linear layers. */
  readonly bits: Bits;
  /** True if samplers round the inputs of products by quantized matrices to 8 bits. Default: false. */
  readonly roundInputs?: boolean | undefined;
}

/**
 * Returns the bits of each quantized matrix: those asked for in linear layers, and 8 in the embedding and the output head,
 * whose errors reach every logit. All other parameters stay in float32.
 */
export function quantizedNames({ config, bits }: Quantization): ReadonlyMap<string, Bits> {
  const names = new Map<string, Bits>([
    [embeddingName(config), 8],
    [headName(config), 8],
  ]);
  for (let layer = 0; layer < config.layers; layer++) {
    for (const { layers } of groupsOf(config.linear)) {
      for (const { name } of layers) names.set(`${moduleName(config, layer, name)}.weight`, bits);
    }
  }
  return names;
}

/** Returns the number of blocks of a row. */
export function blocksOf(columns: number): number {
  return Math.ceil(columns / blockSize);
}

/** Returns the bytes of parameters, with the scale (4 bytes) and the zero point (1 byte) of each block. */
export function quantizedBytes(specs: readonly ParameterSpec[], quantization: Quantization): number {
  const names = quantizedNames(quantization);
  const bytes = ({ name, shape }: ParameterSpec): number => {
    const bits = names.get(name);
    const [rows = 1, columns = 1] = shape;
    return bits === undefined ? 4 * rows * columns : rows * blocksOf(columns) * ((blockSize * bits) / 8 + 5);
  };
  return specs.reduce((sum, spec) => sum + bytes(spec), 0);
}
