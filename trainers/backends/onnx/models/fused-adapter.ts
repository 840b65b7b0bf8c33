import type { DecoderConfig } from "./decoder-config.ts";
import { loraA, loraB } from "./lora.ts";
import { ParameterBlock } from "./parameter-block.ts";
import { attentionInputs, mlpInputs, projectionShape } from "./parameters.ts";
import { isValueHeadParameter } from "./value-head.ts";

/** The linear layers of a block that read the same input, as decoding computes them: one product per group. */
const fusedGroups: readonly (readonly string[])[] = [attentionInputs, ["o_proj"], mlpInputs, ["down_proj"]];

/** The name of one half of a fused adapter. */
export function fusedName(layer: number, group: readonly string[], half: "a" | "b"): string {
  return `fused.${layer}.${group.join("+")}.${half}`;
}

/**
 * An adapter laid out for decoding: for each group of layers that read the same input, their A halves stacked, and
 * their B halves on the diagonal of one matrix (outputs of the group, rank x adapted layers), zero elsewhere. Two
 * products then serve the group. A value head beside the adapter comes with it.
 */
export function fuseAdapter(config: DecoderConfig, adapter: ParameterBlock): ParameterBlock {
  const groups = Array.from({ length: config.layers }, (_, layer) =>
    fusedGroups.map((group) => ({
      layer,
      group,
      adapted: group.filter((projection) => adapter.has(loraA(layer, projection))),
    })),
  )
    .flat()
    .filter(({ adapted }) => adapted.length > 0);
  const specs = groups.flatMap(({ layer, group, adapted }) => {
    const { shape } = adapter.stacked(adapted.map((projection) => loraA(layer, projection)));
    const outputs = group.reduce((sum, projection) => sum + projectionShape(config, projection)[0], 0);
    return [
      { name: fusedName(layer, group, "a"), shape, initial: "zeros" as const },
      { name: fusedName(layer, group, "b"), shape: [outputs, shape[0]!], initial: "zeros" as const },
    ];
  });
  const head = adapter.specs.filter(({ name }) => isValueHeadParameter(name));
  const fused = new ParameterBlock([...specs, ...head]);
  for (const { name } of head) fused.view(name).set(adapter.view(name));
  for (const { layer, group, adapted } of groups) {
    const stacked = adapter.stacked(adapted.map((projection) => loraA(layer, projection)));
    fused.view(fusedName(layer, group, "a")).set(stacked.data);
    const target = fused.view(fusedName(layer, group, "b"));
    const columns = stacked.shape[0]!;
    const rank = columns / adapted.length;
    let row = 0;
    for (const projection of group) {
      const place = adapted.indexOf(projection);
      const [outputs] = projectionShape(config, projection);
      if (place !== -1) {
        const source = adapter.view(loraB(layer, projection));
        for (let output = 0; output < outputs; output++) {
          const values = source.subarray(output * rank, (output + 1) * rank);
          target.set(values, (row + output) * columns + place * rank);
        }
      }
      row += outputs;
    }
  }
  return fused;
}
