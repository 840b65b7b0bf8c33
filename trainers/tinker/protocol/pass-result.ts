import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { z } from "zod";
import { listOf, recordOf } from "../../../src/core/network/list-schema.ts";
import { checkProtobufSize } from "../../../src/core/network/protobuf-size.ts";
import {
  ArrayRecordSchema,
  type BatchedTensor,
  BatchedTensorSchema,
  DType,
  ForwardBackwardOutputSchema,
} from "../generated/tinker_public/tinker_public_pb.ts";
import { bytesOf, invalidBody, longBytes, longsOf } from "./bytes.ts";
import {
  DenseBudget,
  type TensorJson,
  type TinkerTensor,
  tensorFromJson,
  tensorJsonSchema,
  tensorToJson,
  valuesOf,
} from "./tensor.ts";

/** The result of `forward` and `forward_backward`, in either encoding. */
export interface PassResult {
  /** By datum: tensors by name, such as `logprobs`. All data have the same names. */
  readonly outputs: readonly Readonly<Record<string, TinkerTensor>>[];
  /** Such as `loss:sum`. The part after the colon says how clients combine the values of several requests. */
  readonly metrics: Readonly<Record<string, number>>;
}

/** The maximum number of outputs that have no fields, of which a few bytes can state any number. */
const maxEmptyOutputs = 10_000;

/** The name of the type of the outputs. */
const outputType = "ArrayRecord";

/** The JSON form of a {@link PassResult}. */
export interface PassResultJson {
  readonly loss_fn_output_type: string;
  readonly loss_fn_outputs: readonly Readonly<Record<string, TensorJson>>[];
  readonly metrics: Readonly<Record<string, number>>;
}

const resultSchema = z.object({
  loss_fn_outputs: listOf(recordOf(tensorJsonSchema)),
  metrics: recordOf(z.number()).nullish(),
});

/** Reads a result from JSON. Throws `ZodError` and `server.invalid-request`. */
export function passResultFromJson(json: unknown): PassResult {
  const { loss_fn_outputs: outputs, metrics } = resultSchema.parse(json);
  const budget = new DenseBudget();
  return {
    outputs: outputs.map((fields) =>
      Object.fromEntries(Object.entries(fields).map(([name, tensor]) => [name, tensorFromJson(tensor, budget)])),
    ),
    metrics: metrics ?? {},
  };
}

/** Writes a result as JSON. */
export function passResultToJson({ outputs, metrics }: PassResult): PassResultJson {
  return {
    loss_fn_output_type: outputType,
    loss_fn_outputs: outputs.map((fields) =>
      Object.fromEntries(Object.entries(fields).map(([name, tensor]) => [name, tensorToJson(tensor)])),
    ),
    metrics,
  };
}

/** Reads a result from protobuf. Throws `server.invalid-request` for bytes that are not this message. */
export function passResultFromBytes(bytes: Uint8Array): PassResult {
  const message = decoded(bytes);
  const outputs = message.lossFnOutputs.flatMap(({ fields, numDatums }) => {
    const tensors = Object.entries(fields).map(([name, field]) => [name, separated(field)] as const);
    const count = tensors[0]?.[1].length ?? Number(numDatums);
    if (tensors.length === 0 && count > maxEmptyOutputs) throw invalidBody(`It has ${count} outputs without fields.`);
    if (tensors.some(([, each]) => each.length !== count)) throw invalidBody("The outputs differ in their number.");
    return Array.from({ length: count }, (_, i) => Object.fromEntries(tensors.map(([name, each]) => [name, each[i]!])));
  });
  return { outputs, metrics: { ...message.metrics } };
}

/** Writes a result as protobuf. */
export function passResultToBytes({ outputs, metrics }: PassResult): Uint8Array<ArrayBuffer> {
  const fields = Object.keys(outputs[0] ?? {}).map((name) => {
    return [name, batched(outputs.map((datum) => datum[name]!))] as const;
  });
  const record = create(ArrayRecordSchema, {
    typeTag: outputType,
    fields: Object.fromEntries(fields),
    numDatums: BigInt(outputs.length),
  });
  const message = create(ForwardBackwardOutputSchema, {
    lossFnOutputType: outputType,
    lossFnOutputs: outputs.length === 0 ? [] : [record],
    metrics: { ...metrics },
  });
  return toBinary(ForwardBackwardOutputSchema, message);
}

function batched(tensors: readonly TinkerTensor[]): BatchedTensor {
  const parts = tensors.map(({ data, dtype }) =>
    dtype === "float32" ? bytesOf(data as Float32Array) : longBytes(data),
  );
  const offsets = [0];
  for (const part of parts) offsets.push(offsets.at(-1)! + part.length);
  const [first] = tensors;
  return create(BatchedTensorSchema, {
    data: new Uint8Array(Buffer.concat(parts)),
    offsets: longBytes(offsets),
    dtype: first?.dtype === "int64" ? DType.DTYPE_INT64 : DType.DTYPE_FLOAT32,
    trailingShape: (first?.shape.slice(1) ?? []).map(BigInt),
  });
}

function decoded(bytes: Uint8Array) {
  checkProtobufSize(ForwardBackwardOutputSchema, bytes);
  try {
    return fromBinary(ForwardBackwardOutputSchema, bytes);
  } catch (error) {
    throw invalidBody(`The body is not a ForwardBackwardOutput: ${(error as Error).message}`);
  }
}

function separated({ data, offsets, dtype, trailingShape }: BatchedTensor): TinkerTensor[] {
  const ends = longsOf(offsets);
  // Ranges that overlap would repeat the same bytes any number of times.
  if (ends.some((end, i) => end < (ends[i - 1] ?? 0))) throw invalidBody("The offsets of a tensor go backwards.");
  const trailing = trailingShape.map(Number);
  const row = trailing.reduce((product, length) => product * length, 1);
  return Array.from({ length: Math.max(0, ends.length - 1) }, (_, i) => {
    const values = valuesOf(data.subarray(ends[i], ends[i + 1]), dtype);
    return { ...values, shape: [row === 0 ? 0 : values.data.length / row, ...trailing] };
  });
}
