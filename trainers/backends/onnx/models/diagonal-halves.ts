import type { DecoderConfig } from "./decoder-config.ts";
import { loraA, loraB } from "./lora.ts";
import type { ParameterBlock } from "./parameter-block.ts";
import { attentionInputs, mlpInputs, type ParameterSpec, projectionShape } from "./parameters.ts";

/** The name of the diagonal half of an adapter on a group of layers. */
export function diagonalName(layer: number, group: readonly string[]): string {
  return `diagonal.${layer}.${group.join("+")}`;
}

/**
 * Layout of the B halves as decoding reads them where several layers read the same input: on the diagonal of one matrix
 * (outputs of the group, rank x adapted layers), zero elsewhere, so that one product serves the group. The A halves and
 * the B halves of layers that stand alone are read as they are stored.
 */
export function diagonalSpecs(config: DecoderConfig, adapter: ParameterBlock): ParameterSpec[] {
  return adaptedGroups(config, adapter).map(({ layer, group, adapted, rank }) => {
    const outputs = group.reduce((sum, projection) => sum + projectionShape(config, projection)[0], 0);
    return { name: diagonalName(layer, group), shape: [outputs, rank * adapted.length], initial: "zeros" };
  });
}

/** Writes an adapter's B halves to a block of {@link diagonalSpecs}, over those of another adapter of the same layout. */
export function fillDiagonals(config: DecoderConfig, adapter: ParameterBlock, block: ParameterBlock): void {
  for (const { layer, group, adapted, rank } of adaptedGroups(config, adapter)) {
    const target = block.view(diagonalName(layer, group));
    const columns = rank * adapted.length;
    let row = 0;
    for (const projection of group) {
      const place = adapted.indexOf(projection);
      const [outputs] = projectionShape(config, projection);
      if (place !== -1) {
        const source = adapter.view(loraB(layer, projection));
        let from = 0;
        for (let output = row; output < row + outputs; output++) {
          const to = output * columns + place * rank;
          for (let r = 0; r < rank; r++) target[to + r] = source[from++]!;
        }
      }
      row += outputs;
    }
  }
}

/** The groups of layers with one input of which an adapter sits on some. */
function adaptedGroups(config: DecoderConfig, adapter: ParameterBlock) {
  return Array.from({ length: config.layers }, (_, layer) =>
    [attentionInputs, mlpInputs].flatMap((group: readonly string[]) => {
      const adapted = group.filter((projection) => adapter.has(loraA(layer, projection)));
      return adapted.length === 0
        ? []
        : [{ layer, group, adapted, rank: adapter.shape(loraA(layer, adapted[0]!))[0]! }];
    }),
  ).flat();
}
