import { loraA, loraB } from "../../../model-folders/architecture/lora-layers.ts";
import type { ModelWeights } from "./weights.ts";

/**
 * Returns a base parameter with its adapter added: W + scale B A. The result is a copy if the parameter has an adapter.
 */
export function mergedParameter(weights: ModelWeights, name: string): Float32Array {
  const { base, adapter } = weights;
  const values = base.read(name);
  const place = adapter === undefined ? undefined : adapterOf(weights, name);
  if (adapter === undefined || place === undefined) return values;
  const a = adapter.block.view(place.a);
  const b = adapter.block.view(place.b);
  const [rank, inputs] = adapter.block.shape(place.a) as [number, number];
  const outputs = base.shape(name)[0]!;
  const merged = values.slice();
  for (let output = 0; output < outputs; output++) {
    const row = merged.subarray(output * inputs, (output + 1) * inputs);
    for (let r = 0; r < rank; r++) {
      const factor = b[output * rank + r]! * adapter.scale;
      for (let i = 0; i < inputs; i++) row[i] = row[i]! + factor * a[r * inputs + i]!;
    }
  }
  return merged;
}

function adapterOf({ adapter }: ModelWeights, name: string): { a: string; b: string } | undefined {
  const module = name.replace(/\.weight$/, "");
  return adapter!.block.has(loraA(module)) ? { a: loraA(module), b: loraB(module) } : undefined;
}
