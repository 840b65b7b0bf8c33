import { create, toBinary } from "@bufbuild/protobuf";
import {
  type AttributeProto,
  AttributeProto_AttributeType,
  AttributeProtoSchema,
  GraphProtoSchema,
  ModelProtoSchema,
  type NodeProto,
  NodeProtoSchema,
  OperatorSetIdProtoSchema,
  StringStringEntryProtoSchema,
  type TensorProto,
  TensorProto_DataLocation,
  TensorProto_DataType,
  TensorProtoSchema,
  type ValueInfoProto,
  ValueInfoProtoSchema,
} from "onnx-buf";
import type { Constant, Graph, GraphNode } from "./graph.ts";
import type { DataType, Tensor } from "./tensor.ts";

/**
 * The value of an operator's attribute. An integer is written as an integer attribute. Wrap it in {@link float} if the
 * operator requires a float.
 */
export type AttributeValue = number | string | readonly number[] | FloatAttribute;

/** An attribute that is written as a float. */
export interface FloatAttribute {
  readonly float: number;
}

/** Marks an attribute as a float, even if its value is an integer. */
export function float(value: number): FloatAttribute {
  return { float: value };
}

const irVersion = 10n;
const operatorSets = { "": 21n, "com.microsoft": 1n };

const dataTypes: Record<DataType, TensorProto_DataType> = {
  float32: TensorProto_DataType.FLOAT,
  float16: TensorProto_DataType.FLOAT16,
  int32: TensorProto_DataType.INT32,
  int64: TensorProto_DataType.INT64,
  uint8: TensorProto_DataType.UINT8,
  bool: TensorProto_DataType.BOOL,
};

/**
 * Encodes a graph as an ONNX ModelProto. An external constant is referenced by its tensor's name as the file name.
 *
 * The shapes of all values are declared, because the runtime does not infer those of parts whose sizes it does not know.
 * For each value, it looks for freed memory of the same shape, among all that has not been used again. With unknown
 * shapes nothing is used again, so this search takes time that grows with the square of the graph's size: 22 s of 24 s
 * for a graph of 15,000 nodes.
 */
export function encodeModel(graph: Graph): Uint8Array<ArrayBuffer> {
  const { nodes, used } = reachable(graph);
  const model = create(ModelProtoSchema, {
    irVersion,
    producerName: "lyceum",
    opsetImport: Object.entries(operatorSets).map(([domain, version]) =>
      create(OperatorSetIdProtoSchema, { domain, version }),
    ),
    graph: create(GraphProtoSchema, {
      name: "lyceum",
      node: nodes.map(encodeNode),
      input: graph.inputs.map(encodeValue),
      output: graph.outputs.map(encodeValue),
      valueInfo: intermediateValues(graph, nodes).map(encodeValue),
      initializer: graph.constants.filter((constant) => used.has(constant.tensor)).map(encodeConstant),
    }),
  });
  return toBinary(ModelProtoSchema, model) as Uint8Array<ArrayBuffer>;
}

/** Returns the outputs of nodes that are not outputs of the graph. */
function intermediateValues({ outputs }: Graph, nodes: readonly GraphNode[]): Tensor[] {
  const results = new Set(outputs);
  return nodes.flatMap((node) => node.outputs).filter((tensor) => !results.has(tensor));
}

/** Returns the nodes that the outputs depend on, in order, and all tensors that they read. */
function reachable(graph: Graph): { nodes: GraphNode[]; used: Set<Tensor> } {
  const used = new Set<Tensor>(graph.outputs);
  const nodes: GraphNode[] = [];
  for (const node of graph.nodes.toReversed()) {
    if (!node.outputs.some((output) => used.has(output))) continue;
    nodes.push(node);
    for (const input of node.inputs) if (input !== undefined) used.add(input);
  }
  return { nodes: nodes.reverse(), used };
}

function encodeNode(node: GraphNode): NodeProto {
  return create(NodeProtoSchema, {
    opType: node.operator,
    domain: node.domain,
    name: node.outputs[0]!.name,
    input: node.inputs.map((input) => input?.name ?? ""),
    output: node.outputs.map((output) => output.name),
    attribute: Object.entries(node.attributes).map(([name, value]) => encodeAttribute(name, value)),
  });
}

function encodeAttribute(name: string, value: AttributeValue): AttributeProto {
  if (typeof value === "string") {
    return create(AttributeProtoSchema, {
      name,
      type: AttributeProto_AttributeType.STRING,
      s: new TextEncoder().encode(value),
    });
  }
  if (typeof value === "number") {
    return create(AttributeProtoSchema, { name, type: AttributeProto_AttributeType.INT, i: BigInt(value) });
  }
  if ("float" in value) {
    return create(AttributeProtoSchema, { name, type: AttributeProto_AttributeType.FLOAT, f: value.float });
  }
  return create(AttributeProtoSchema, { name, type: AttributeProto_AttributeType.INTS, ints: value.map(BigInt) });
}

function encodeValue(tensor: Tensor): ValueInfoProto {
  return create(ValueInfoProtoSchema, {
    name: tensor.name,
    type: {
      value: {
        case: "tensorType",
        value: {
          elemType: dataTypes[tensor.type],
          shape: {
            dim: tensor.shape.map((size) => ({
              value:
                typeof size === "number"
                  ? { case: "dimValue" as const, value: BigInt(size) }
                  : { case: "dimParam" as const, value: size },
            })),
          },
        },
      },
    },
  });
}

function encodeConstant({ tensor, data, external }: Constant): TensorProto {
  const proto = create(TensorProtoSchema, {
    name: tensor.name,
    dims: tensor.shape.map((size) => BigInt(size)),
    dataType: dataTypes[tensor.type],
  });
  if (external) {
    proto.dataLocation = TensorProto_DataLocation.EXTERNAL;
    const entries = { location: tensor.name, offset: "0", length: String(data.byteLength) };
    proto.externalData = Object.entries(entries).map(([key, value]) =>
      create(StringStringEntryProtoSchema, { key, value }),
    );
  } else {
    proto.rawData = new Uint8Array(
      data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength) as ArrayBuffer,
    );
  }
  return proto;
}
