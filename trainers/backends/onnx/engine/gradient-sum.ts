import type { ParameterBlock } from "../models/parameter-block.ts";

/** A part of a block with its gradient: neighbouring parameters by their names. */
export interface GradientPart {
  readonly names: readonly string[];
  readonly gradient: Float32Array;
}

/**
 * The gradient by a block's parameters, summed over runs. It stays in the arrays that the first run gave: memory for
 * all of it in one would be new in every step, and its first use takes longer than the sum.
 */
export class GradientSum {
  readonly #parts = new Map<string, Float32Array>();

  /** Adds the gradient by neighbouring parameters, named in the same groups each time: "a+b". The array is taken over. */
  add(name: string, gradient: Float32Array): void {
    const sum = this.#parts.get(name);
    if (sum === undefined) this.#parts.set(name, gradient);
    else for (let i = 0; i < sum.length; i++) sum[i] = sum[i]! + gradient[i]!;
  }

  /** Adds another gradient, which is taken over. */
  addAll(other: GradientSum): void {
    for (const [name, gradient] of other.#parts) this.add(name, gradient);
  }

  /** The L2 norm, summed in float64. */
  get norm(): number {
    let sum = 0;
    for (const gradient of this.#parts.values()) sum += squares(gradient);
    return Math.sqrt(sum);
  }

  /** All of a block in parts, zeros where nothing was added. */
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
  // Two sums at a time: in one, each addition would wait for the one before.
  for (; i + 1 < values.length; i += 2) {
    even += values[i]! * values[i]!;
    odd += values[i + 1]! * values[i + 1]!;
  }
  return even + odd + (i < values.length ? values[i]! ** 2 : 0);
}
