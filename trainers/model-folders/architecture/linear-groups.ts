import type { Architecture } from "./architecture.ts";
import type { ConfigFields } from "./config-fields.ts";

/** A linear layer of a block. */
export interface BlockLayer {
  /** The name within the block, such as `self_attn.q_proj`. */
  readonly name: string;
  readonly inputs: number;
  readonly outputs: number;
}

/**
 * Linear layers of a block that read the same input. They are stored one after the other: all weights, then all biases.
 */
export interface LinearGroup {
  readonly layers: readonly BlockLayer[];
  readonly bias: boolean;
  /** The widths of the parts of the concatenated outputs, such as queries, keys and values. */
  readonly widths: readonly number[];
}

/** The linear layers of a block, in the order of computation and storage. */
export interface LinearGroups {
  /** Queries, keys and values. */
  readonly attentionInputs: LinearGroup;
  readonly attentionOutput: LinearGroup;
  /** Gate and up, or one hidden layer. */
  readonly mlpInputs: LinearGroup;
  readonly mlpOutput: LinearGroup;
}

/** Returns the linear layers of a family's blocks, with the sizes of a `config.json`. */
export function linearGroups(
  { attention, mlp }: Architecture,
  fields: ConfigFields,
  sizes: {
    readonly hiddenSize: number;
    readonly heads: number;
    readonly keyValueHeads: number;
    readonly headSize: number;
  },
): LinearGroups {
  const { hiddenSize, heads, keyValueHeads, headSize } = sizes;
  const expanded = mlp.expansion === undefined ? undefined : mlp.expansion * hiddenSize;
  const unit = fields.size("intermediate_size", expanded);
  const [queries, keys] = [heads * headSize, keyValueHeads * headSize];
  const group = (
    names: readonly string[],
    shape: { readonly inputs: number; readonly widths: readonly number[]; readonly bias: boolean },
  ): LinearGroup => {
    const { inputs, widths, bias } = shape;
    const whole = widths.reduce((sum, width) => sum + width, 0);
    const outputs = names.length === 1 ? [whole] : widths;
    return { layers: names.map((name, i) => ({ name, inputs, outputs: outputs[i]! })), bias, widths };
  };
  return {
    attentionInputs: group(attention.inputs, {
      inputs: hiddenSize,
      widths: [queries, keys, keys],
      bias: fields.bias(attention.inputBias),
    }),
    attentionOutput: group([attention.output], {
      inputs: queries,
      widths: [hiddenSize],
      bias: fields.bias(attention.outputBias),
    }),
    mlpInputs: group(mlp.inputs, {
      inputs: hiddenSize,
      widths: mlp.gated ? [unit, unit] : [unit],
      bias: fields.bias(mlp.bias),
    }),
    mlpOutput: group([mlp.output], { inputs: unit, widths: [hiddenSize], bias: fields.bias(mlp.bias) }),
  };
}

/** Returns all groups of a block, in order. */
export function groupsOf({ attentionInputs, attentionOutput, mlpInputs, mlpOutput }: LinearGroups): LinearGroup[] {
  return [attentionInputs, attentionOutput, mlpInputs, mlpOutput];
}
