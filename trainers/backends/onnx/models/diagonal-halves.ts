import type { DecoderConfig } from "../../../model-folders/architecture/decoder-config.ts";
import { type BlockLayer, groupsOf } from "../../../model-folders/architecture/linear-groups.ts";
import { loraA, loraB } from "../../../model-folders/architecture/lora-layers.ts";
import { moduleName, type ParameterSpec } from "../../../model-folders/architecture/parameters.ts";
import type { ParameterBlock } from "./parameter-block.ts";

/** Returns the name of the diagonal B half of an adapter on a group of layers. */
export function diagonalName(layer: number, group: readonly Pick<BlockLayer, "name">[]): string {
  return `diagonal.${layer}.${group.map(({ name }) => name).join("+")}`;
}

/**
 * Returns the decoding layout of the B halves for layers that read the same input. They are on the diagonal of one
 * matrix (outputs of the group, rank x adapted layers), which is zero elsewhere, so that one product computes the
 * group. The A halves, and the B halves of single layers, are read as they are stored.
 */
export function diagonalSpecs(config: DecoderConfig, adapter: ParameterBlock): ParameterSpec[] {
  return adaptedGroups(config, adapter).map(({ layer, layers, adapted, rank }) => {
    const outputs = layers.reduce((sum, each) => sum + each.outputs, 0);
    return { name: diagonalName(layer, layers), shape: [outputs, rank * adapted.length], initial: "zeros" };
  });
}

/**
 * Writes an adapter's B halves to a block of {@link diagonalSpecs}. Overwrites those of another adapter with the same
 * layout.
 */
export function fillDiagonals(config: DecoderConfig, adapter: ParameterBlock, block: ParameterBlock): void {
  for (const { layer, layers, adapted, rank } of adaptedGroups(config, adapter)) {
    const target = block.view(diagonalName(layer, layers));
    const columns = rank * adapted.length;
    let row = 0;
    for (const each of layers) {
      const place = adapted.indexOf(each);
      if (place !== -1) {
        const source = adapter.view(loraB(moduleName(config, layer, each.name)));
        let from = 0;
        for (let output = row; output < row + each.outputs; output++) {
          const to = output * columns + place * rank;
          for (let r = 0; r < rank; r++) target[to + r] = source[from++]!;
        }
      }
      row += each.outputs;
    }
  }
}

/** Returns the groups of several layers with the same input in which at least one layer has an adapter. */
function adaptedGroups(
  config: DecoderConfig,
  adapter: ParameterBlock,
): {
  readonly layer: number;
  readonly layers: readonly BlockLayer[];
  readonly adapted: readonly BlockLayer[];
  readonly rank: number;
}[] {
  const groups = groupsOf(config.linear).filter(({ layers }) => layers.length > 1);
  return Array.from({ length: config.layers }, (_, layer) =>
    groups.flatMap(({ layers }) => {
      const half = ({ name }: BlockLayer): string => loraA(moduleName(config, layer, name));
      const adapted = layers.filter((each) => adapter.has(half(each)));
      return adapted.length === 0 ? [] : [{ layer, layers, adapted, rank: adapter.shape(half(adapted[0]!))[0]! }];
    }),
  ).flat();
}
