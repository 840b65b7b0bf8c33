import { LyceumError } from "../../../../src/contract/errors/index.ts";
import { createRandom, deriveSeed } from "../../../../src/core/random/random.ts";
import type { ParameterSpec } from "../architecture/parameters.ts";

/** Where a parameter lies in a block. */
interface Place {
  readonly spec: ParameterSpec;
  readonly offset: number;
  readonly length: number;
}

/**
 * Parameters stored one after another in a single shared array, so that neighbours can be read as one matrix, an
 * optimizer runs over one array, and threads and sessions share the memory.
 */
export class ParameterBlock {
  readonly specs: readonly ParameterSpec[];
  readonly data: Float32Array;
  readonly #places: Map<string, Place>;

  /** A block of zeros, or over `data` of the right length. */
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
      throw new RangeError(`A block of ${offset} values over an array of ${this.data.length}.`);
  }

  has(name: string): boolean {
    return this.#places.has(name);
  }

  shape(name: string): readonly number[] {
    return this.#place(name).spec.shape;
  }

  /** The values of one parameter; writing to them writes to the block. */
  view(name: string): Float32Array {
    const { offset, length } = this.#place(name);
    return this.data.subarray(offset, offset + length);
  }

  /** Neighbouring parameters as one, stacked along their first axis. */
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

  /** A block of the same layout with the same values in memory of its own. */
  copy(): ParameterBlock {
    const block = new ParameterBlock(this.specs);
    block.data.set(this.data);
    return block;
  }

  /** A block of the same layout over other values: gradients, moments. */
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
      message: `There is no memory for ${length} parameters (${(length / 2.5e8).toFixed(1)} GB).`,
      hint: "Choose a smaller model, or a machine with more memory.",
      cause,
    });
  }
}

/**
 * Fills a block as its specs say; each parameter's numbers depend on the seed and its name alone. `deviation` is the
 * standard deviation of normal ones; "inputs" takes 1 / sqrt(3 inputs) by each parameter's last axis, the deviation
 * of PEFT's default initialization.
 */
export function initializeParameters(
  block: ParameterBlock,
  options: { readonly seed: number; readonly deviation: number | "inputs" },
): void {
  for (const spec of block.specs) {
    const values = block.view(spec.name);
    if (spec.initial === "ones") values.fill(1);
    if (spec.initial !== "normal") continue;
    const deviation = options.deviation === "inputs" ? 1 / Math.sqrt(3 * spec.shape.at(-1)!) : options.deviation;
    const random = createRandom(deriveSeed(options.seed, spec.name));
    for (let i = 0; i < values.length; i++) values[i] = random.normal() * deviation;
  }
}
