import { LyceumError } from "../../../../src/contract/errors/index.ts";
import type { ParameterSpec } from "../../../model-folders/architecture/parameters.ts";

/** The place of a parameter in a block. */
interface Place {
  readonly spec: ParameterSpec;
  readonly offset: number;
  readonly length: number;
}

/**
 * Parameters in a single shared array. Neighbours can be read as one matrix, an optimizer runs over one array, and
 * threads and sessions share the memory.
 */
export class ParameterBlock {
  readonly specs: readonly ParameterSpec[];
  readonly data: Float32Array;
  readonly #places: Map<string, Place>;

  /** Creates a block of zeros, or a block over `data`, which must have the right length. */
  constructor(specs: readonly ParameterSpec[], data?: Float32Array) {
    this.specs = specs;
    this.#places = new Map();
    let offset = 0;
    for (const spec of specs) {
      const length = spec.shape.reduce((product, size) => product * size, 1);
      this.#places.set(spec.name, { spec, offset, length });
      offset += length;
    }
    this.data = data ?? allocate(offset);
    if (this.data.length !== offset)
      throw new RangeError(`A block of ${offset} values does not fit an array of ${this.data.length}.`);
  }

  /** The number of values. */
  get count(): number {
    return this.data.length;
  }

  get byteLength(): number {
    return this.data.byteLength;
  }

  has(name: string): boolean {
    return this.#places.has(name);
  }

  shape(name: string): readonly number[] {
    return this.#place(name).spec.shape;
  }

  /** Returns the values of one parameter. Writing to them changes the block. */
  view(name: string): Float32Array {
    const { offset, length } = this.#place(name);
    return this.data.subarray(offset, offset + length);
  }

  /** Returns the values of one parameter, which must not be changed. */
  read(name: string): Float32Array {
    return this.view(name);
  }

  /** Returns neighbouring parameters as one, stacked along their first axis. */
  stacked(names: readonly string[]): { readonly shape: readonly number[]; readonly data: Float32Array } {
    const places = names.map((name) => this.#place(name));
    const first = places[0]!;
    let end = first.offset;
    let rows = 0;
    for (const place of places) {
      if (place.offset !== end) throw new RangeError(`${place.spec.name} does not follow its neighbour in the block.`);
      end += place.length;
      rows += place.spec.shape[0]!;
    }
    return { shape: first.spec.shape.with(0, rows), data: this.data.subarray(first.offset, end) };
  }

  set(name: string, values: Float32Array): void {
    this.view(name).set(values);
  }

  /** True if a parameter has these values. 0 and -0 are equal. */
  holds(name: string, values: Float32Array): boolean {
    const own = this.view(name);
    return values.every((value, i) => Object.is(value, own[i]) || value === own[i]);
  }

  /** Copies the block to new memory, with more parameters. */
  extended(specs: readonly ParameterSpec[]): ParameterBlock {
    const block = new ParameterBlock(specs);
    for (const { name } of this.specs) block.set(name, this.view(name));
    return block;
  }

  /** Copies the block to new memory. */
  copy(): ParameterBlock {
    const block = new ParameterBlock(this.specs);
    block.data.set(this.data);
    return block;
  }

  /** Creates a block with the same layout over other values, such as gradients or moments. */
  over(data: Float32Array): ParameterBlock {
    return new ParameterBlock(this.specs, data);
  }

  #place(name: string): Place {
    const place = this.#places.get(name);
    if (place === undefined) throw new RangeError(`The block has no parameter "${name}".`);
    return place;
  }
}

function allocate(length: number): Float32Array {
  try {
    return new Float32Array(new SharedArrayBuffer(length * 4));
  } catch (cause) {
    throw new LyceumError({
      code: "backend.failed",
      message: `There is not enough memory for ${length} parameters (${(length / 2.5e8).toFixed(1)} GB).`,
      hint: "Choose a smaller model, or a machine with more memory.",
      cause,
    });
  }
}
