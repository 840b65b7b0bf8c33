import { add, cast, multiply } from "./elementwise.ts";
import type { GradientRule } from "./graph.ts";
import { type AttributeValue, float } from "./model-proto.ts";
import { reduceSum } from "./reduction.ts";
import { broadcastShapes, type Dimension, dimension, type Tensor } from "./tensor.ts";

interface LinearOptions {
  /** Transposes a, which is (inner, rows). */
  readonly transposeA?: boolean;
  /** Transposes b, which is (columns, inner), the weight layout of linear layers. */
  readonly transposeB?: boolean;
  /** A factor of the product. */
  readonly scale?: number;
  /** Added to the product: (rows, columns), or (columns) for a bias. */
  readonly addend?: Tensor | undefined;
}

/** scale a b + addend, for matrices. */
export function matrixProduct(a: Tensor, b: Tensor, options: LinearOptions = {}): Tensor {
  const { transposeA = false, transposeB = false, scale = 1, addend } = options;
  const { graph } = a;
  const rows = dimension(a, transposeA ? 1 : 0);
  const columns = dimension(b, transposeB ? 0 : 1);
  return product({
    operator: "Gemm",
    factors: [a, b],
    addend,
    shape: [rows, columns],
    attributes: {
      transA: transposeA ? 1 : 0,
      transB: transposeB ? 1 : 0,
      alpha: float(scale),
    },
    gradient: ([dy]) => [
      () =>
        transposeA
          ? matrixProduct(b, dy!, { transposeA: transposeB, transposeB: true, scale })
          : matrixProduct(dy!, b, { transposeB: !transposeB, scale }),
      () =>
        transposeB
          ? matrixProduct(dy!, graph.inBackward(a), { transposeA: true, transposeB: transposeA, scale })
          : matrixProduct(graph.inBackward(a), dy!, { transposeA: !transposeA, scale }),
      () => (addend!.shape.length === 1 ? reduceSum(dy!, [0]) : dy!),
    ],
  });
}

/** scale a b over the last two axes. Leading axes are batch axes and broadcast. */
export function batchedProduct(
  a: Tensor,
  b: Tensor,
  options: { transposeA?: boolean; transposeB?: boolean; scale?: number } = {},
): Tensor {
  const { transposeA = false, transposeB = false, scale = 1 } = options;
  const batch = broadcastShapes(a.shape.slice(0, -2), b.shape.slice(0, -2));
  const shape = [...batch, dimension(a, transposeA ? -1 : -2), dimension(b, transposeB ? -2 : -1)];
  return product({
    operator: "FusedMatMul",
    domain: "com.microsoft",
    factors: [a, b],
    shape,
    attributes: { transA: transposeA ? 1 : 0, transB: transposeB ? 1 : 0, alpha: float(scale) },
    gradient: ([dy]) => {
      if (transposeA || batch.some((size, i) => size !== a.shape[i] || size !== b.shape[i])) {
        throw new Error("batchedProduct has no gradient if batches broadcast or a is transposed.");
      }
      return [
        () => batchedProduct(dy!, b, { transposeB: !transposeB, scale }),
        () =>
          transposeB
            ? batchedProduct(dy!, a, { transposeA: true, scale })
            : batchedProduct(a, dy!, { transposeA: true, scale }),
      ];
    },
  });
}

/** Appends a product in the graph's precision. */
function product(options: {
  readonly operator: string;
  readonly domain?: "com.microsoft";
  readonly factors: readonly [Tensor, Tensor];
  readonly addend?: Tensor | undefined;
  readonly shape: readonly Dimension[];
  readonly attributes: Readonly<Record<string, AttributeValue>>;
  readonly gradient: GradientRule;
}): Tensor {
  const { factors, addend, shape, gradient, ...node } = options;
  const { graph } = factors[0];
  const inputs = addend === undefined ? factors : [...factors, addend];
  if (graph.precision === "float32") return graph.node({ ...node, inputs, outputs: [{ shape }], gradient })[0]!;
  return graph.composite({
    name: node.operator,
    inputs,
    build: () => {
      const halves = factors.map((factor) => cast(factor, "float16"));
      const [half] = graph.node({ ...node, inputs: halves, outputs: [{ type: "float16", shape }] });
      const whole = cast(half!, "float32");
      return { outputs: [addend === undefined ? whole : add(whole, addend)], gradient };
    },
  })[0]!;
}

/** The sum of a b over the last axis, which is kept with size 1. */
export function rowDot(a: Tensor, b: Tensor): Tensor {
  return reduceSum(multiply(a, b), [-1], { keepAxes: true });
}

/** Sums a list of tensors with equal shapes. */
export function sum(parts: readonly Tensor[]): Tensor {
  return parts.reduce((total, part) => add(total, part));
}
