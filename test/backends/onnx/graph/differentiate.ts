import { type Feed, type Feeds, GraphSession } from "../../../../trainers/backends/onnx/engine/session.ts";
import { gradients } from "../../../../trainers/backends/onnx/graph/gradients.ts";
import { Graph } from "../../../../trainers/backends/onnx/graph/graph.ts";
import type { Tensor } from "../../../../trainers/backends/onnx/graph/tensor.ts";
import type { Device } from "../../../../trainers/backends/onnx/index.ts";
import { type OperatorCase, sizesOf } from "./operator-cases.ts";

/**
 * A case as a graph: outputs `y<i>`, and `gradient<i>`, the gradients of sum over i of <cotangent<i>, y<i>> with
 * respect to operand i.
 */
export class Differentiated implements AsyncDisposable {
  readonly #session: GraphSession;
  readonly #feeds: Feeds;
  readonly #cotangents: readonly Float32Array[];
  readonly #case: OperatorCase;

  private constructor(options: {
    readonly session: GraphSession;
    readonly feeds: Feeds;
    readonly cotangents: readonly Float32Array[];
    readonly operatorCase: OperatorCase;
  }) {
    this.#session = options.session;
    this.#feeds = options.feeds;
    this.#cotangents = options.cotangents;
    this.#case = options.operatorCase;
  }

  static async build(operatorCase: OperatorCase, device: Device = "cpu"): Promise<Differentiated> {
    const { operands, sizes, fixed = {}, apply } = operatorCase;
    const graph = new Graph({ target: device });
    const feeds: Record<string, Feed> = {};
    const inputs = operands.map(({ shape }, i) => graph.input(`x${i}`, "float32", shape));
    const read: Record<string, Tensor> = {};
    for (const [name, { type, shape, values }] of Object.entries(fixed)) {
      read[name] = graph.input(name, type, shape);
      feeds[name] = { data: values, shape: sizesOf(shape, sizes) };
    }
    const outputs = [apply(inputs, graph, read)].flat() as Tensor[];
    operands.forEach(({ shape, values }, i) => {
      feeds[`x${i}`] = { data: values, shape: sizesOf(shape, sizes) };
    });
    const cotangents = outputs.map(({ shape }, i) => {
      const size = sizesOf(shape, sizes);
      const length = size.reduce((product, size) => product * size, 1);
      const data = Float32Array.from({ length }, (_, place) => Math.sin(3 * place + i + 1));
      feeds[`cotangent${i}`] = { data, shape: size };
      return data;
    });
    const found = gradients({
      outputs: outputs.map((tensor, i) => ({
        tensor,
        gradient: graph.input(`cotangent${i}`, "float32", tensor.shape),
      })),
      by: inputs,
    });
    outputs.forEach((tensor, i) => {
      graph.output(`y${i}`, tensor);
    });
    found.forEach((tensor, i) => {
      const [shape, wanted] = [tensor!.shape.join(), operands[i]!.shape.join()];
      if (shape !== wanted) throw new RangeError(`The gradient of [${wanted}] is [${shape}].`);
      graph.output(`gradient${i}`, tensor!);
    });
    const session = await GraphSession.create(graph, { device, threads: 1 });
    return new Differentiated({ session, feeds, cotangents, operatorCase });
  }

  /** Outputs and gradients by name. */
  all(): Promise<Record<string, Float32Array>> {
    return this.#session.run(this.#feeds);
  }

  /** The gradients that the graph computes, by operand. */
  async analytic(): Promise<Float32Array[]> {
    const names = this.#case.operands.map((_, i) => `gradient${i}`);
    const results = await this.#session.run(this.#feeds, names);
    return names.map((name) => results[name]!);
  }

  /**
   * The gradients by central differences of the outputs, of fourth order, summed in float64. Steps are powers of two,
   * which do not round on the operands' grid of 1/1024.
   */
  async numeric(): Promise<number[][]> {
    const step = 1 / 32;
    const results: number[][] = [];
    for (const { values } of this.#case.operands) {
      const slopes: number[] = [];
      for (let place = 0; place < values.length; place++) {
        const kept = values[place]!;
        const at = async (offset: number): Promise<number> => {
          values[place] = kept + offset;
          const value = await this.#loss();
          values[place] = kept;
          return value;
        };
        const near = (await at(step)) - (await at(-step));
        const far = (await at(2 * step)) - (await at(-2 * step));
        slopes.push((8 * near - far) / (12 * step));
      }
      results.push(slopes);
    }
    return results;
  }

  async #loss(): Promise<number> {
    const names = this.#cotangents.map((_, i) => `y${i}`);
    const outputs = await this.#session.run(this.#feeds, names);
    let sum = 0;
    this.#cotangents.forEach((cotangent, i) => {
      outputs[`y${i}`]!.forEach((value, place) => {
        sum += value * cotangent[place]!;
      });
    });
    return sum;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#session[Symbol.asyncDispose]();
  }
}
