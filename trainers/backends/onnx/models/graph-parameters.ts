import type { Graph } from "../graph/graph.ts";
import { type Weight, weightRows } from "../graph/quantized-weight.ts";
import type { Tensor } from "../graph/tensor.ts";
import { ParameterBlock } from "./parameter-block.ts";
import type { QuantizedBlock } from "./quantized-block.ts";
import { packMatrices, type QuantizedMatrix } from "./quantized-matrix.ts";

/** The parameters of a base. Those of a quantized one are only read. */
export type BaseBlock = ParameterBlock | QuantizedBlock;

/** A parameter array that a graph reads, with the name of its input. */
export interface BoundParameter {
  readonly name: string;
  readonly shape: readonly number[];
  /** The block's parameters in this array, in order. */
  readonly names: readonly string[];
  /** The part of a quantized matrix. Undefined for a parameter in float32. */
  readonly part?: MatrixPart;
}

/** A part of a quantized matrix. */
export type MatrixPart = "values" | "scales" | "zeroPoints";

/**
 * The parameters of one block as tensors of one graph. Inputs can change between runs and can be shared between
 * sessions. The runtime may optimize the layout of constants once.
 */
export class GraphParameters {
  readonly bound: BoundParameter[] = [];
  readonly #graph: Graph;
  readonly #block: BaseBlock;
  readonly #placement: "input" | "constant";
  readonly #tensors = new Map<string, Tensor>();
  readonly #weights = new Map<string, Weight>();

  constructor(options: { graph: Graph; block: BaseBlock; placement: "input" | "constant" }) {
    this.#graph = options.graph;
    this.#block = options.block;
    this.#placement = options.placement;
  }

  has(name: string): boolean {
    return this.#block.has(name);
  }

  /** Returns one parameter, or neighbouring parameters stacked along their first axis. */
  tensor(...names: readonly string[]): Tensor {
    const key = names.join("+");
    const known = this.#tensors.get(key);
    if (known !== undefined) return known;
    const { shape, data } = this.#block.stacked(names);
    const tensor =
      this.#placement === "input"
        ? this.#graph.input(key, "float32", shape)
        : this.#graph.constant(data, shape, { name: key, external: true });
    if (this.#placement === "input") this.bound.push({ name: key, shape, names });
    this.#tensors.set(key, tensor);
    return tensor;
  }

  /**
   * Returns one matrix, or neighbouring matrices stacked along their first axis, for products. Quantized matrices are
   * stacked only as constants.
   */
  weight(...names: readonly string[]): Weight {
    const matrices = this.#matricesOf(names);
    if (matrices === undefined) return this.tensor(...names);
    const key = names.join("+");
    const known = this.#weights.get(key);
    if (known !== undefined) return known;
    const weight = this.#placement === "input" ? this.#stored(names) : this.#packed(key, matrices);
    this.#weights.set(key, weight);
    return weight;
  }

  /** Returns the rows of a matrix at indices (tokens): (tokens, columns). */
  rows(name: string, indices: Tensor): Tensor {
    return weightRows(this.#matricesOf([name]) === undefined ? this.tensor(name) : this.#stored([name]), indices);
  }

  #matricesOf(names: readonly string[]): QuantizedMatrix[] | undefined {
    const block = this.#block;
    if (block instanceof ParameterBlock) return undefined;
    const matrices = names.flatMap((name) => block.matrix(name) ?? []);
    return matrices.length === names.length ? matrices : undefined;
  }

  /** Binds a quantized matrix as inputs, which sessions share. */
  #stored(names: readonly string[]): Weight {
    const [matrix, ...more] = this.#matricesOf(names)!;
    if (matrix === undefined || more.length > 0)
      throw new RangeError("Inputs with quantized matrices are not stacked.");
    const { shape, bits } = matrix;
    const rows = shape[0];
    const part = (name: MatrixPart): Tensor => {
      const key = `${names[0]}:${name}`;
      const known = this.#tensors.get(key);
      if (known !== undefined) return known;
      const size = [rows, matrix[name].length / rows];
      const tensor = this.#graph.input(key, name === "scales" ? "float32" : "uint8", size);
      this.bound.push({ name: key, shape: size, names, part: name });
      this.#tensors.set(key, tensor);
      return tensor;
    };
    return {
      form: "stored",
      graph: this.#graph,
      shape,
      bits,
      values: part("values"),
      scales: part("scales"),
      zeroPoints: part("zeroPoints"),
    };
  }

  #packed(key: string, matrices: readonly QuantizedMatrix[]): Weight {
    const { roundInputs } = this.#block as QuantizedBlock;
    const { bits, values, scales, zeroPoints, blocks } = packMatrices(matrices, { whole: roundInputs });
    const rows = matrices.reduce((sum, { shape }) => sum + shape[0], 0);
    const constant = (part: MatrixPart, data: Float32Array | Uint8Array, shape: readonly number[]): Tensor =>
      this.#graph.constant(data, shape, { name: `${key}:packed:${part}`, external: true });
    return {
      form: "packed",
      graph: this.#graph,
      shape: [rows, matrices[0]!.shape[1]],
      bits,
      roundInputs,
      values: constant("values", values, [rows, blocks, values.length / (rows * blocks)]),
      scales: constant("scales", scales, [scales.length]),
      zeroPoints: constant("zeroPoints", zeroPoints, [zeroPoints.length]),
    };
  }
}

/** A graph, and the parameters of the model that it reads. */
export interface GraphPlan {
  readonly graph: Graph;
  readonly baseParameters: readonly BoundParameter[];
  readonly adapterParameters: readonly BoundParameter[];
}

/**
 * Binds the parameters of a model to a graph. Returns them, and the plan of the graph. The plan lists the parameters
 * that the graph reads, also those that it reads later.
 */
export function bindParameters(
  graph: Graph,
  model: {
    readonly base: BaseBlock;
    readonly adapter?: { readonly block: ParameterBlock; readonly scale: number };
  },
  placement: "input" | "constant" = "input",
) {
  const parameters = new GraphParameters({ graph, block: model.base, placement });
  const adapter = model.adapter && {
    parameters: new GraphParameters({ graph, block: model.adapter.block, placement: "input" }),
    scale: model.adapter.scale,
  };
  const adapterParameters = adapter?.parameters.bound ?? [];
  const plan: GraphPlan = { graph, baseParameters: parameters.bound, adapterParameters };
  return { parameters, adapter, plan };
}
