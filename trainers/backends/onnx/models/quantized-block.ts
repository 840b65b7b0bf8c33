import { LyceumError } from "../../../../src/contract/errors/index.ts";
import type { DecoderConfig } from "../../../model-folders/architecture/decoder-config.ts";
import type { ParameterSpec } from "../../../model-folders/architecture/parameters.ts";
import {
  type Bits,
  type Quantization,
  quantizedBytes,
  quantizedNames,
} from "../../../model-folders/architecture/quantized-parameters.ts";
import { ParameterBlock } from "./parameter-block.ts";
import { dequantizeMatrix, type QuantizedMatrix, quantizeMatrix } from "./quantized-matrix.ts";
import { sampledValues } from "./sampled-values.ts";

/**
 * The frozen parameters of a base with quantized matrices. It has the methods of {@link ParameterBlock} that read.
 * Parameters are set one at a time, so that loading never holds more than one matrix in float32.
 */
export class QuantizedBlock {
  readonly specs: readonly ParameterSpec[];
  /** The bits of the linear layers. */
  readonly bits: Bits;
  /** True if samplers round the inputs of products by the matrices to 8 bits. */
  readonly roundInputs: boolean;
  /** The number of values. */
  readonly count: number;
  readonly #quantization: Quantization;
  readonly #bits: ReadonlyMap<string, Bits>;
  readonly #shapes: ReadonlyMap<string, readonly number[]>;
  readonly #plain: ParameterBlock;
  readonly #matrices = new Map<string, QuantizedMatrix>();
  /** Samples of the values that each parameter was set to, counted in the parameter and in the block. */
  readonly #samples = new Map<string, { readonly own: Float32Array; readonly inBlock: Float32Array }>();
  readonly #offsets = new Map<string, number>();

  constructor(specs: readonly ParameterSpec[], quantization: Quantization) {
    this.specs = specs;
    this.bits = quantization.bits;
    this.roundInputs = quantization.roundInputs ?? false;
    this.#quantization = quantization;
    this.#bits = quantizedNames(quantization);
    this.#shapes = new Map(specs.map(({ name, shape }) => [name, shape]));
    this.#plain = new ParameterBlock(specs.filter(({ name }) => !this.#bits.has(name)));
    let offset = 0;
    for (const { name, shape } of specs) {
      this.#offsets.set(name, offset);
      offset += sizeOf(shape);
    }
    this.count = offset;
  }

  get byteLength(): number {
    return quantizedBytes(this.specs, this.#quantization);
  }

  has(name: string): boolean {
    return this.#shapes.has(name);
  }

  shape(name: string): readonly number[] {
    return this.#shapes.get(name)!;
  }

  /** Sets a parameter. Throws `model.malformed` if a value of a quantized matrix is not finite. */
  set(name: string, values: Float32Array): void {
    this.#samples.set(name, {
      own: sampledValues(values),
      inBlock: sampledValues(values, this.#offsets.get(name)),
    });
    const bits = this.#bits.get(name);
    if (bits === undefined) this.#plain.view(name).set(values);
    else this.#matrices.set(name, quantized(name, values, this.shape(name), bits));
  }

  /** True if the parameter would be the same after it is set to these values. */
  holds(name: string, values: Float32Array): boolean {
    const bits = this.#bits.get(name);
    if (bits === undefined) return Buffer.from(bytesOf(values)).equals(bytesOf(this.#plain.view(name)));
    return equalMatrices(this.matrix(name)!, quantized(name, values, this.shape(name), bits));
  }

  /** Returns the values of a parameter that products use. A matrix is in new memory. */
  read(name: string): Float32Array {
    const matrix = this.matrix(name);
    return matrix === undefined ? this.#plain.view(name) : dequantizeMatrix(matrix);
  }

  /** Returns neighbouring float32 parameters as one, stacked along their first axis. */
  stacked(names: readonly string[]): { readonly shape: readonly number[]; readonly data: Float32Array } {
    return this.#plain.stacked(names);
  }

  /** Returns a quantized matrix. Undefined for a parameter in float32. */
  matrix(name: string): QuantizedMatrix | undefined {
    return this.#matrices.get(name);
  }

  /** Returns a sample of the values that a parameter was set to, or of those of all parameters: see `sampledValues`. */
  sample(name?: string): Float32Array {
    if (name !== undefined) return this.#samples.get(name)!.own;
    return Float32Array.from(this.specs.flatMap((spec) => [...this.#samples.get(spec.name)!.inBlock]));
  }

  /** Returns a block with more parameters, which shares the matrices of this one. */
  extended(specs: readonly ParameterSpec[], config: DecoderConfig): QuantizedBlock {
    const block = new QuantizedBlock(specs, { ...this.#quantization, config });
    for (const { name } of this.#plain.specs) block.#plain.view(name).set(this.#plain.view(name));
    for (const [name, matrix] of this.#matrices) block.#matrices.set(name, matrix);
    for (const [name, sample] of this.#samples) block.#samples.set(name, sample);
    return block;
  }

  /** True if both have the same values. */
  equals(other: QuantizedBlock): boolean {
    return (
      bytesOf(this.#plain.data).equals(bytesOf(other.#plain.data)) &&
      [...this.#matrices].every(([name, matrix]) => equalMatrices(matrix, other.#matrices.get(name)!))
    );
  }
}

function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

function quantized(name: string, values: Float32Array, shape: readonly number[], bits: Bits): QuantizedMatrix {
  const matrix = quantizeMatrix(values, shape as [number, number], bits);
  if (matrix !== undefined) return matrix;
  throw new LyceumError({
    code: "model.malformed",
    message: `The tensor "${name}" has a value that is not finite, so it cannot be quantized.`,
    hint: "Download the model again, or remove backend.quantize.",
    data: { name },
  });
}

function equalMatrices(a: QuantizedMatrix, b: QuantizedMatrix): boolean {
  return (["values", "scales", "zeroPoints"] as const).every((part) => bytesOf(a[part]).equals(bytesOf(b[part])));
}

function bytesOf({ buffer, byteOffset, byteLength }: Float32Array | Uint8Array): Buffer {
  return Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength);
}
