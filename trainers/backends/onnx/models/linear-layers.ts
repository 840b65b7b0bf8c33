import { add, multiply } from "../graph/elementwise.ts";
import { matrixProduct, sum } from "../graph/linear.ts";
import { asMatrix, type Weight, weightProduct } from "../graph/quantized-weight.ts";
import { scaleAfter } from "../graph/scale-after.ts";
import { concatenate, split } from "../graph/shape.ts";
import { knownDimension, type Tensor } from "../graph/tensor.ts";

/** One of several linear layers that read the same input. */
export interface LinearLayer {
  /** (outputs, inputs) */
  readonly weight: Weight;
  /** (outputs) */
  readonly bias: Tensor | undefined;
  /** (outputs, rank): the B half of the layer's adapter, if it has one. */
  readonly b: Tensor | undefined;
}

/** Layers with adapters: x (tokens, inputs) times (weight + scale b a)^T. */
interface AdaptedGroup {
  readonly x: Tensor;
  readonly layers: readonly LinearLayer[];
  /** (sum of ranks, inputs): the A halves, stacked in the order of the layers that have one. */
  readonly a: Tensor;
  readonly scale: number;
}

/** Computes x weight^T + bias for each layer: (tokens, outputs). */
export function plainLayers(x: Tensor, layers: readonly LinearLayer[]): Tensor[] {
  return layers.map(({ weight, bias }) => weightProduct(x, weight, bias));
}

/** Computes the plain outputs plus scale (x a^T) b^T. */
export function adaptedLayers({ x, layers, a, scale }: AdaptedGroup): Tensor[] {
  const outputs = plainLayers(x, layers);
  const reduced = byAdapter(matrixProduct(x, a, { transposeB: true }), 1, layers);
  return outputs.map((output, i) => {
    const { b } = layers[i]!;
    return b === undefined ? output : add(output, matrixProduct(reduced[i]!, b, { transposeB: true, scale }));
  });
}

/** Computes the plain outputs plus scale ((x mask) a^T) b^T. Each adapter has its own `a` and its own mask of x. */
export function maskedLayers(group: {
  readonly x: Tensor;
  readonly layers: readonly LinearLayer[];
  readonly scale: number;
  /** In the order of the layers. Undefined for a layer without an adapter. The mask is (tokens, inputs). */
  readonly inputs: readonly ({ readonly a: Tensor; readonly mask: Tensor } | undefined)[];
}): Tensor[] {
  const { x, layers, scale, inputs } = group;
  return plainLayers(x, layers).map((output, i) => {
    const { b } = layers[i]!;
    const input = inputs[i];
    if (b === undefined || input === undefined) return output;
    const reduced = matrixProduct(multiply(x, input.mask), input.a, { transposeB: true });
    return add(output, matrixProduct(reduced, b, { transposeB: true, scale }));
  });
}

/**
 * Computes the same with the adapters added to the weights first. That needs less time than products of the tokens if
 * there are more tokens than layer inputs or than layer outputs. The backward pass computes the sums again, because the
 * sums of all layers would need as much memory as their weights.
 */
export function mergedLayers({ x, layers, a, scale }: AdaptedGroup): readonly Tensor[] {
  const halves = byAdapter(a, 0, layers);
  const merged = layers.map(({ weight, b }, i) =>
    b === undefined ? weight : add(asMatrix(weight, x), matrixProduct(b, halves[i]!, { scale })),
  );
  const adapters = layers.flatMap(({ b }) => b ?? []);
  return x.graph.composite({
    name: "mergedLayers",
    inputs: [x, a, ...adapters],
    build: () => ({
      outputs: plainLayers(
        x,
        layers.map((layer, i) => ({ ...layer, weight: merged[i]! })),
      ),
      gradient: (dys) => {
        const adapted = layers.flatMap(({ b }, i) => (b === undefined ? [] : [{ b, i, dy: dys[i]! }]));
        const again = (i: number): Tensor => {
          const { weight, b } = layers[i]!;
          const plain = asMatrix(weight, dys[i]!);
          if (b === undefined) return plain;
          const late = multiply(halves[i]!, scaleAfter(dys[i]!, scale));
          return add(plain, matrixProduct(b, late));
        };
        const byX = (): Tensor => sum(dys.map((dy, i) => matrixProduct(dy!, again(i))));
        const byA = (): Tensor => {
          const reduced = adapted.map(({ b, dy }) => matrixProduct(dy, b));
          const together = reduced.length === 1 ? reduced[0]! : concatenate(reduced, 1, knownDimension(a, 0));
          return matrixProduct(together, x.graph.inBackward(x), { transposeA: true, scale });
        };
        let reduced: readonly (Tensor | undefined)[] | undefined;
        const byB = adapted.map(({ i, dy }) => () => {
          reduced ??= byAdapter(matrixProduct(x.graph.inBackward(x), a, { transposeB: true }), 1, layers);
          return matrixProduct(dy, reduced[i]!, { transposeA: true, scale });
        });
        return [byX, byA, ...byB];
      },
    }),
  });
}

/** Splits a stacked tensor along an axis into the parts of the layers with an adapter. */
function byAdapter(stacked: Tensor, axis: number, layers: readonly LinearLayer[]): readonly (Tensor | undefined)[] {
  const ranks = layers.flatMap(({ b }) => (b === undefined ? [] : [knownDimension(b, 1)]));
  const parts = ranks.length === 1 ? [stacked] : split(stacked, axis, ranks);
  let next = 0;
  return layers.map(({ b }) => (b === undefined ? undefined : parts[next++]));
}
