import { type AttributeValue, encodeModel } from "./onnx-model.ts";
import type { DataType, Dimension, Tensor } from "./tensor.ts";

/**
 * Given the gradient of a loss by each output (undefined: none flows), how to append the gradient by each input. Only
 * the inputs that something asks for are asked.
 */
export type GradientRule = (outputGradients: readonly (Tensor | undefined)[]) => readonly InputGradient[];

/** Appends the gradient by one input. */
export type InputGradient = () => Tensor;

/** What differentiation sees of the graph: one operator, or several as one with a rule of their own. */
export interface TapeEntry {
  readonly name: string;
  readonly inputs: readonly (Tensor | undefined)[];
  readonly outputs: readonly Tensor[];
  readonly gradient: GradientRule | undefined;
}

/** One operator application. */
export interface GraphNode {
  readonly operator: string;
  readonly domain: "" | "com.microsoft";
  readonly inputs: readonly (Tensor | undefined)[];
  readonly outputs: readonly Tensor[];
  readonly attributes: Readonly<Record<string, AttributeValue>>;
}

/** A value that is part of the model file. */
export interface Constant {
  readonly tensor: Tensor;
  readonly data: Float32Array | Int32Array | BigInt64Array;
  /** Large ones stay outside of the protobuf message and are handed to the runtime beside it. */
  readonly external: boolean;
}

/** What numbers matrix products are computed in. */
export type Precision = "float32" | "float16";

/**
 * An ONNX graph being built: operators append nodes in order, {@link gradients} appends the backward ones, and
 * {@link toModel} encodes all of it. Shapes are tracked while building, symbolic dimensions by name.
 */
export class Graph {
  readonly nodes: GraphNode[] = [];
  readonly inputs: Tensor[] = [];
  readonly outputs: Tensor[] = [];
  readonly constants: Constant[] = [];
  /** How values came about, in order, for {@link gradients}. */
  readonly tape: TapeEntry[] = [];
  /** The device that it will run on: where kernels differ, operators take the form that is right there. */
  readonly target: string;
  /** What products are computed in; everything else, and what products read and give, is float32. */
  readonly precision: Precision;
  #scalars = new Map<string, Tensor>();
  readonly #anew = new Map<Tensor, () => Tensor>();
  #names = 0;

  constructor(options: { readonly target?: string; readonly precision?: Precision } = {}) {
    this.target = options.target ?? "cpu";
    this.precision = options.precision ?? "float32";
  }

  /** A value fed at each run. */
  input(name: string, type: DataType, shape: readonly Dimension[]): Tensor {
    const tensor = { graph: this, name, type, shape };
    this.inputs.push(tensor);
    return tensor;
  }

  /** A value stored in the model. */
  constant(
    data: Constant["data"],
    shape: readonly number[],
    options: { readonly name?: string; readonly external?: boolean } = {},
  ): Tensor {
    const type = data instanceof Float32Array ? "float32" : data instanceof Int32Array ? "int32" : "int64";
    const tensor: Tensor = { graph: this, name: options.name ?? this.#nextName("constant"), type, shape };
    this.constants.push({ tensor, data, external: options.external ?? false });
    return tensor;
  }

  /** A float32 number, stored once per value. */
  scalar(value: number): Tensor {
    return this.#shared(`float:${value}`, () => this.constant(Float32Array.of(value), []));
  }

  /** A list of int64 numbers (axes, shapes), stored once per content. */
  integers(values: readonly number[]): Tensor {
    return this.#shared(`integers:${values.join()}`, () =>
      this.constant(BigInt64Array.from(values, BigInt), [values.length]),
    );
  }

  /** Appends a node; its outputs have the given types and shapes. */
  node(options: {
    readonly operator: string;
    readonly inputs: readonly (Tensor | undefined)[];
    readonly outputs: readonly { readonly type?: DataType; readonly shape: readonly Dimension[] }[];
    readonly attributes?: Readonly<Record<string, AttributeValue>>;
    readonly domain?: GraphNode["domain"];
    readonly gradient?: GradientRule;
  }): Tensor[] {
    const outputs = options.outputs.map(
      ({ type = "float32", shape }): Tensor => ({
        graph: this,
        name: this.#nextName(options.operator),
        type,
        shape,
      }),
    );
    const node: GraphNode = {
      operator: options.operator,
      domain: options.domain ?? "",
      inputs: options.inputs,
      outputs,
      attributes: options.attributes ?? {},
    };
    this.nodes.push(node);
    const { operator, inputs, gradient } = options;
    this.tape.push({ name: operator, inputs, outputs, gradient });
    return outputs;
  }

  /**
   * What `build` appends, differentiated as one operator from `inputs` to its outputs by a rule of its own: for
   * gradients with a better formula than that of the parts.
   */
  composite(options: {
    readonly name: string;
    readonly inputs: readonly Tensor[];
    readonly build: () => { readonly outputs: readonly Tensor[]; readonly gradient: GradientRule };
  }): readonly Tensor[] {
    const { name, inputs, build } = options;
    const before = this.tape.length;
    const { outputs, gradient } = build();
    this.tape.length = before;
    this.tape.push({ name, inputs, outputs, gradient });
    return outputs;
  }

  /**
   * Has products of the backward pass read what `anew` appends instead of the tensor, whose memory is free once the
   * forward pass has used it. The runtime computes equal nodes once: `anew` must not repeat the forward pass's.
   */
  recompute(tensor: Tensor, anew: () => Tensor): void {
    let made: Tensor | undefined;
    this.#anew.set(tensor, () => (made ??= anew()));
  }

  /** What the backward pass reads of a tensor: itself, unless it is computed anew. */
  inBackward(tensor: Tensor): Tensor {
    return this.#anew.get(tensor)?.() ?? tensor;
  }

  /** Names a tensor as a result of each run. The returned tensor carries the name. */
  output(name: string, tensor: Tensor): Tensor {
    const output: Tensor = { graph: this, name, type: tensor.type, shape: tensor.shape };
    const node: GraphNode = {
      operator: "Identity",
      domain: "",
      inputs: [tensor],
      outputs: [output],
      attributes: {},
    };
    this.nodes.push(node);
    this.outputs.push(output);
    return output;
  }

  /** The graph as an ONNX model; nodes that no output needs are left out. */
  toModel(): Uint8Array<ArrayBuffer> {
    return encodeModel(this);
  }

  #shared(key: string, make: () => Tensor): Tensor {
    const known = this.#scalars.get(key);
    if (known !== undefined) return known;
    const made = make();
    this.#scalars.set(key, made);
    return made;
  }

  #nextName(prefix: string): string {
    this.#names += 1;
    return `${prefix}_${this.#names}`;
  }
}
