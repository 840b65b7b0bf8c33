import { createRandom, deriveSeed } from "../../../../src/core/random/random.ts";
import type { ParameterBlock } from "./parameter-block.ts";

/**
 * Initializes a block by its specs. Each parameter's values depend only on the seed and its name. `deviation` is the
 * standard deviation of normal values. "inputs" means 1 / sqrt(3 inputs), with the size of each parameter's last axis
 * as inputs. That is PEFT's default initialization.
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
