import { add, divide, multiply, negate, sigmoid, subtract, unary } from "./elementwise.ts";
import { rowDot } from "./linear.ts";
import { float } from "./model-proto.ts";
import { reduceSum } from "./reduction.ts";
import { expandDimension, squeeze } from "./shape.ts";
import { knownDimension, type Tensor } from "./tensor.ts";

/** x sigmoid(x) (Elfwing et al. 2017, https://arxiv.org/abs/1702.03118). */
export function silu(x: Tensor): Tensor {
  const y: Tensor = x.graph.operation("QuickGelu", [x], {
    shape: x.shape,
    domain: "com.microsoft",
    attributes: { alpha: float(1) },
    gradient: ([dy]) => [
      () => {
        const s = sigmoid(x);
        return multiply(dy!, add(s, multiply(y, subtract(x.graph.scalar(1), s))));
      },
    ],
  });
  return y;
}

/**
 * {@link silu}(gate) up, the gated unit of a feed-forward layer (Shazeer 2020, https://arxiv.org/abs/2002.05202). Only the
 * factors are kept for the backward pass, which computes the rest again.
 */
export function swiglu(gate: Tensor, up: Tensor): Tensor {
  return gate.graph.composite({
    name: "swiglu",
    inputs: [gate, up],
    build: () => {
      const { graph } = gate;
      const activated = silu(gate);
      const output = multiply(activated, up);
      let s: Tensor | undefined;
      graph.recompute(activated, () => {
        s = sigmoid(gate);
        return multiply(gate, s);
      });
      graph.recompute(output, () => multiply(up, graph.inBackward(activated)));
      return {
        outputs: [output],
        gradient: ([dy]) => {
          const byUp = multiply(dy!, graph.inBackward(activated));
          // silu' = s + silu (1 - s), so the gradient of gate is silu' up dy = up (s (dy - byUp) + byUp).
          return [() => multiply(up, add(multiply(s!, subtract(dy!, byUp)), byUp)), () => byUp];
        },
      };
    },
  })[0]!;
}

/** Softmax over the last axis. */
export function softmax(x: Tensor): Tensor {
  const y: Tensor = x.graph.operation("Softmax", [x], {
    shape: x.shape,
    attributes: { axis: -1 },
    gradient: ([dy]) => [
      () => {
        const weighted = multiply(dy!, y);
        return subtract(weighted, multiply(y, reduceSum(weighted, [-1], { keepAxes: true })));
      },
    ],
  });
  return y;
}

/**
 * x / sqrt(mean(x^2) + epsilon) * weight over the last axis (Zhang and Sennrich 2019,
 * https://arxiv.org/abs/1910.07467).
 */
export function rmsNorm(x: Tensor, weight: Tensor, epsilon: number): Tensor {
  const width = knownDimension(x, -1);
  const root = (): Tensor => (x.graph.target === "webgpu" ? inverseRootMeanSquare(x, epsilon) : inverse!);
  const [y, inverse]: Tensor[] = x.graph.node({
    operator: "SimplifiedLayerNormalization",
    inputs: [x, weight],
    outputs: [{ shape: x.shape }, { shape: x.shape.with(-1, 1) }],
    attributes: { axis: -1, epsilon: float(epsilon), stash_type: 1 },
    gradient: ([dy]) => {
      // With r = 1 / sqrt(...) and g = dy weight: dx = r g - x r^3 mean(g x).
      const r = root();
      const byX = (): Tensor => {
        const g = multiply(dy!, weight);
        const mean = divide(rowDot(g, x), x.graph.scalar(width));
        const cubed = multiply(multiply(r, r), r);
        return subtract(multiply(g, r), multiply(x, multiply(cubed, mean)));
      };
      const leading = x.shape.slice(0, -1).map((_, axis) => axis);
      return [byX, () => reduceSum(multiply(dy!, multiply(x, r)), leading)];
    },
  });
  x.graph.recompute(y!, () => multiply(multiply(x, root()), weight));
  return y!;
}

/**
 * The webgpu kernel of the norm returns the mean of x as its second output (ONNX Runtime 1.30), so this computes the
 * inverse root mean square there.
 */
function inverseRootMeanSquare(x: Tensor, epsilon: number): Tensor {
  const { graph } = x;
  const mean = divide(rowDot(x, x), graph.scalar(knownDimension(x, -1)));
  const root = unary("Sqrt", add(mean, graph.scalar(epsilon)));
  return divide(graph.scalar(1), root);
}

/** The rotary tables, (positions, headSize / 2) each, and the position of every token, (1, tokens), int64. */
export interface RotaryTables {
  readonly cos: Tensor;
  readonly sin: Tensor;
  readonly positions: Tensor;
}

/**
 * Applies rotary position embedding to (tokens, heads x headSize), in the half-split layout of Hugging Face checkpoints
 * (Su et al. 2021, https://arxiv.org/abs/2104.09864). The gradient is the inverse rotation.
 */
export function rotate(x: Tensor, heads: number, tables: RotaryTables): Tensor {
  return squeeze(rotateBatch(expandDimension(x, 0), heads, tables), 0);
}

function rotateBatch(x: Tensor, heads: number, tables: RotaryTables): Tensor {
  return x.graph.operation("RotaryEmbedding", [x, tables.positions, tables.cos, tables.sin], {
    shape: x.shape,
    domain: "com.microsoft",
    attributes: { num_heads: heads },
    gradient: ([dy]) => [() => rotateBatch(dy!, heads, { ...tables, sin: negate(tables.sin) })],
  });
}

/** {@link rotate} for (tokens, heads, 1, headSize), each token on its own. `positions` is (tokens, 1). No gradient. */
export function rotateHeads(x: Tensor, tables: RotaryTables): Tensor {
  return x.graph.operation("RotaryEmbedding", [x, tables.positions, tables.cos, tables.sin], {
    shape: x.shape,
    domain: "com.microsoft",
  });
}
