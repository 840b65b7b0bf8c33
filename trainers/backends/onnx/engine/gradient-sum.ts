import type { ParameterBlock } from "../models/parameter-block.ts";

/** The gradient of neighbouring parameters of a block. */
export interface GradientPart {
  readonly names: readonly string[];
  readonly gradient: Float32Array;
}

/**
 * The gradient of a block's parameters, summed over runs. It stays in the arrays of the first run. One array for the
 * whole gradient would be allocated in every step, and touching new memory takes longer than the sum.
 */
export class GradientSum {
  readonly #parts = new Map<string, Float32Array>();

  /**
   * Adds the gradient of neighbouring parameters. `name` joins their names with "+", in the same groups in every call.
   * Takes ownership of the array.
   */
  add(name: string, gradient: Float32Array): void {
    const sum = this.#parts.get(name);
    if (sum === undefined) this.#parts.set(name, gradient);
    else for (let i = 0; i < sum.length; i++) sum[i] = sum[i]! + gradient[i]!;
  }

  /** Adds another gradient sum and takes ownership of its arrays. */
  addAll(other: GradientSum): void {
    for (const [name, gradient] of other.#parts) this.add(name, gradient);
  }

  /** The L2 norm, accumulated in float64. */
  get norm(): number {
    let sum = 0;
    for (const gradient of this.#parts.values()) sum += squares(gradient);
    return Math.sqrt(sum);
  }

  /** Returns the gradient of the whole block in parts. Parameters without a gradient get zeros. */
  partsOf(block: ParameterBlock): GradientPart[] {
    const parts = [...this.#parts].map(([name, gradient]) => ({ names: name.split("+"), gradient }));
    const known = new Set(parts.flatMap(({ names }) => names));
    const others = block.specs.filter(({ name }) => !known.has(name));
    return [
      ...parts,
      ...others.map(({ name }) => ({ names: [name], gradient: new Float32Array(block.view(name).length) })),
    ];
  }
}

function squares(values: Float32Array): number {
  let even = 0;
  let odd = 0;
  let i = 0;
  // Two accumulators, so that an addition does not wait for the previous one.
  for (; i + 1 < values.length; i += 2) {
    even += values[i]! * values[i]!;
    odd += values[i + 1]! * values[i + 1]!;
  }
  return even + odd + (i < values.length ? values[i]! ** 2 : 0);
}
