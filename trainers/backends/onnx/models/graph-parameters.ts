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
