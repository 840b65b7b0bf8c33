import { type AttributeValue, encodeModel } from "./model-proto.ts";
import type { DataType, Dimension, Tensor } from "./tensor.ts";

/**
 * Returns, for each input, a function that appends its gradient. `outputGradients` are the gradients of a loss with
 * respect to the outputs (undefined if no gradient flows). The functions are called only for inputs whose gradient is
 * needed.
 */
export type GradientRule = (outputGradients: readonly (Tensor | undefined)[]) => readonly InputGradient[];

/** Appends the gradient with respect to one input. */
export type InputGradient = () => Tensor;

/** One step of differentiation: an operator, or several operators with a common gradient rule. */
export interface TapeEntry {
  readonly name: string;
  readonly inputs: readonly (Tensor | undefined)[];
  readonly outputs: readonly Tensor[];
  readonly gradient: GradientRule | undefined;
}

/** One application of an operator. */
export interface GraphNode {
  readonly operator: string;
  readonly domain: "" | "com.microsoft";
  readonly inputs: readonly (Tensor | undefined)[];
  readonly outputs: readonly Tensor[];
  readonly attributes: Readonly<Record<string, AttributeValue>>;
}

/** A value that is stored in the model. */
export interface Constant {
  readonly tensor: Tensor;
  readonly data: Float32Array | Int32Array | BigInt64Array | Uint8Array;
  /** True for large constants, which are passed to the runtime separately from the protobuf message. */
  readonly external: boolean;
}

/** The precision of matrix products. */
export type Precision = "float32" | "float16";

/**
 * Builds an ONNX graph. Operators append nodes in order, {@link gradients} appends the backward nodes, and
 * {@link toModel} encodes the graph. Shapes are tracked during construction, with names for symbolic dimensions.
 */
export class Graph {
  readonly nodes: GraphNode[] = [];
  readonly inputs: Tensor[] = [];
  readonly outputs: Tensor[] = [];
  readonly constants: Constant[] = [];
  /** The computation of all values, in order, for {@link gradients}. */
  readonly tape: TapeEntry[] = [];
  /**
   * The device that will run the graph. Operators choose a form that is correct on it, because kernels differ between
   * devices.
   */
  readonly target: string;
  /** The precision of products. Everything else is float32, including the inputs and outputs of products. */
  readonly precision: Precision;
  #scalars = new Map<string, Tensor>();
  readonly #recomputed = new Map<Tensor, () => Tensor>();
  #names = 0;

  constructor(options: { readonly target?: string; readonly precision?: Precision } = {}) {
    this.target = options.target ?? "cpu";
    this.precision = options.precision ?? "float32";
  }

  /** Declares an input, which is passed in each run. */
  input(name: string, type: DataType, shape: readonly Dimension[]): Tensor {
    const tensor = { graph: this, name, type, shape };
    this.inputs.push(tensor);
    return tensor;
  }

  /** Stores a value in the model. */
  constant(
    data: Constant["data"],
    shape: readonly number[],
    options: { readonly name?: string; readonly external?: boolean } = {},
  ): Tensor {
    const type = typeOf(data);
    const tensor: Tensor = { graph: this, name: options.name ?? this.#nextName("constant"), type, shape };
    this.constants.push({ tensor, data, external: options.external ?? false });
    return tensor;
  }

  /** A float32 scalar. Equal values are stored once. */
  scalar(value: number): Tensor {
    return this.#shared(`float:${value}`, () => this.constant(Float32Array.of(value), []));
  }

  /** A list of int64 values (axes, shapes). Equal lists are stored once. */
  integers(values: readonly number[]): Tensor {
    return this.#shared(`integers:${values.join()}`, () =>
      this.constant(BigInt64Array.from(values, BigInt), [values.length]),
    );
  }

  /** Appends a node whose outputs have the given types and shapes. */
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

  /** Adds an operator with one output, and returns it. Its type is float32 by default. */
  operation(
    operator: string,
    inputs: readonly Tensor[],
    options: Omit<Parameters<Graph["node"]>[0], "operator" | "inputs" | "outputs"> & {
      readonly type?: DataType;
      readonly shape: readonly Dimension[];
    },
  ): Tensor {
    const { type, shape, ...node } = options;
    return this.node({ ...node, operator, inputs, outputs: [{ type, shape }] })[0]!;
  }

  /**
   * Appends what `build` appends, and differentiates it as one operator with its own gradient rule. Use it if the whole
   * has a better gradient formula than its parts.
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
   * Recomputes a tensor in the backward pass. Products of the backward pass then read the nodes that `build` appends
   * instead of the tensor, so its memory is freed after the forward pass. The runtime computes identical nodes only
   * once, so `build` must not repeat the nodes of the forward pass exactly.
   */
  recompute(tensor: Tensor, build: () => Tensor): void {
    let made: Tensor | undefined;
    this.#recomputed.set(tensor, () => (made ??= build()));
  }

  /** Returns the tensor that the backward pass reads: the tensor itself, or its recomputed form. */
  inBackward(tensor: Tensor): Tensor {
    return this.#recomputed.get(tensor)?.() ?? tensor;
  }

  /** Declares a tensor as a result of each run. The returned tensor has the given name. */
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

  /** Encodes the graph as an ONNX model, without nodes that no output depends on. */
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

function typeOf(data: Constant["data"]): DataType {
  if (data instanceof Float32Array) return "float32";
  if (data instanceof Int32Array) return "int32";
  return data instanceof Uint8Array ? "uint8" : "int64";
}
