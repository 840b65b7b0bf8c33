import type { Graph } from "../graph/graph.ts";
import type { Tensor } from "../graph/tensor.ts";
import type { ParameterBlock } from "./parameter-block.ts";

/** A parameter array that a graph reads, under the name that it is fed by. */
export interface BoundParameter {
  readonly name: string;
  readonly shape: readonly number[];
  /** The block's parameters that it spans, in order. */
  readonly names: readonly string[];
}

/**
 * The parameters of one block as tensors of one graph. As inputs they can change between runs and be shared between
 * sessions; as constants the runtime may lay them out for speed, once.
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

  /** One parameter, or neighbouring ones stacked along their first axis. */
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
