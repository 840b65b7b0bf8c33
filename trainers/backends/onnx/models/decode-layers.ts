import type { DecoderConfig } from "../../../model-folders/architecture/decoder-config.ts";
import type { LinearGroup } from "../../../model-folders/architecture/linear-groups.ts";
import { loraA, loraB } from "../../../model-folders/architecture/lora-layers.ts";
import { moduleName } from "../../../model-folders/architecture/parameters.ts";
import { add } from "../graph/elementwise.ts";
import { batchedProduct, matrixProduct } from "../graph/linear.ts";
import { asMatrix, type Weight, weightProduct } from "../graph/quantized-weight.ts";
import { expandDimension, split, transpose } from "../graph/shape.ts";
import { dimension, type Tensor } from "../graph/tensor.ts";
import type { DecoderParts } from "./decoder.ts";
import { diagonalName } from "./diagonal-halves.ts";
import { feedForwardUnit } from "./feed-forward-unit.ts";

/** A group of linear layers of a block. It is one product, with the layers' biases and adapters. */
interface BlockGroup {
  readonly layer: number;
  readonly group: LinearGroup;
}

/** The linear layers of a decoding graph, all from (rows, ...) to (rows, ...). */
export interface DecodeLayers {
  /** Computes the layers' concatenated outputs, plus `addend`. */
  readonly linear: (layers: BlockGroup, x: Tensor, addend?: Tensor) => Tensor;
  /** Computes the feed-forward unit of a layer, plus `addend`. */
  readonly feedForward: (layer: number, x: Tensor, addend?: Tensor) => Tensor;
  /** Computes x weight^T without bias or adapter. */
  readonly head: (x: Tensor, weight: Weight) => Tensor;
}

/** Creates layers with the weights on the right side of products. */
export function weightsOnTheRight(parts: DecoderParts): DecodeLayers {
  const { mlpInputs, mlpOutput } = parts.config.linear;
  const linear = (layers: BlockGroup, x: Tensor, addend?: Tensor): Tensor => {
    const { weight, bias, adapter } = tensorsOf(parts, layers);
    const start = addend !== undefined && bias !== undefined ? add(addend, bias) : (addend ?? bias);
    const output = weightProduct(x, weight, start);
    if (adapter === undefined) return output;
    const reduced = matrixProduct(x, adapter.a, { transposeB: true });
    return matrixProduct(reduced, adapter.b, { transposeB: true, scale: adapter.scale, addend: output });
  };
  return {
    linear,
    feedForward: (layer, x, addend) => {
      const unit = unitOf(parts.config, linear({ layer, group: mlpInputs }, x), 1);
      return linear({ layer, group: mlpOutput }, unit, addend);
    },
    head: weightProduct,
  };
}

/**
 * Creates layers with the weights on the left side of products, which the runtime never copies. On a CPU this is nearly
 * twice as fast for about ten rows. The outputs have a column for each row. Within a gated unit they stay in this
 * layout.
 */
export function weightsOnTheLeft(parts: DecoderParts): DecodeLayers {
  const { mlpInputs, mlpOutput } = parts.config.linear;
  /**
   * Returns the layers' outputs as (outputs, rows). x is (rows, inputs), or (inputs, rows) if it already has columns.
   */
  const columns = (layers: BlockGroup, x: Tensor, order: { readonly transposeB: boolean }): Tensor => {
    const { weight, bias, adapter } = tensorsOf(parts, layers);
    // Gemm is not used here: the runtime would fuse a transposition into it and move the weights to the right again.
    const product = batchedProduct(asMatrix(weight, x), x, order);
    const output = bias === undefined ? product : add(product, expandDimension(bias, 1));
    if (adapter === undefined) return output;
    return add(output, batchedProduct(adapter.b, batchedProduct(adapter.a, x, order), { scale: adapter.scale }));
  };
  const inRows = (x: Tensor): Tensor => transpose(x, [1, 0]);
  return {
    linear: (layers, x, addend) => {
      const output = inRows(columns(layers, x, { transposeB: true }));
      return addend === undefined ? output : add(output, addend);
    },
    feedForward: (layer, x, addend) => {
      const unit = unitOf(parts.config, columns({ layer, group: mlpInputs }, x, { transposeB: true }), 0);
      const output = inRows(columns({ layer, group: mlpOutput }, unit, { transposeB: false }));
      return addend === undefined ? output : add(output, addend);
    },
    head: (x, weight) => inRows(batchedProduct(asMatrix(weight, x), x, { transposeB: true })),
  };
}

/** Applies the feed-forward unit to its inputs, which are concatenated along an axis. */
function unitOf({ activation, linear }: DecoderConfig, inputs: Tensor, axis: number): Tensor {
  const { widths } = linear.mlpInputs;
  return feedForwardUnit(activation, widths.length === 1 ? [inputs] : split(inputs, axis, widths));
}

function tensorsOf(
  { config, parameters, adapter }: DecoderParts,
  { layer, group }: BlockGroup,
): {
  readonly weight: Weight;
  readonly bias: Tensor | undefined;
  readonly adapter: { readonly a: Tensor; readonly b: Tensor; readonly scale: number } | undefined;
} {
  const modules = group.layers.map(({ name }) => moduleName(config, layer, name));
  const weight = parameters.weight(...modules.map((module) => `${module}.weight`));
  const bias = group.bias ? parameters.tensor(...modules.map((module) => `${module}.bias`)) : undefined;
  const adapted = modules.filter((module) => adapter?.parameters.has(loraA(module)));
  if (adapter === undefined || adapted.length === 0) return { weight, bias, adapter: undefined };
  const a = adapter.parameters.tensor(...adapted.map(loraA));
  const b =
    modules.length === 1
      ? adapter.parameters.tensor(loraB(modules[0]!))
      : weight.graph.input(diagonalName(layer, group.layers), "float32", [weight.shape[0]!, dimension(a, 0)]);
  return { weight, bias, adapter: { a, b, scale: adapter.scale } };
}
