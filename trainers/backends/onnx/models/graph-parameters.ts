import type { Graph } from "../graph/graph.ts";
import type { Tensor } from "../graph/tensor.ts";
import type { ParameterBlock } from "./parameter-block.ts";

/** A parameter array that a graph reads, with the name of its input. */
export interface BoundParameter {
  readonly name: string;
  readonly shape: readonly number[];
  /** The block's parameters in this array, in order. */
  readonly names: readonly string[];
}

/**
 * The parameters of one block as tensors of one graph. Inputs can change between runs and can be shared between
 * sessions. The runtime may optimize the layout of constants once.
 */
export class GraphParameters {
  readonly bound: BoundParameter[] = [];
  readonly #graph: Graph;
  readonly #block: ParameterBlock;
  readonly #placement: "input" | "constant";
  readonly #tensors = new Map<string, Tensor>();

  constructor(options: { graph: Graph; block: ParameterBlock; placement: "input" | "constant" }) {
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
    readonly base: ParameterBlock;
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
