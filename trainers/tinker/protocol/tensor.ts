import { create } from "@bufbuild/protobuf";
import { z } from "zod";
import { integers, numbers } from "../../../src/core/network/list-schema.ts";
import { DType, type Tensor as TensorMessage, TensorSchema } from "../generated/tinker_public/tinker_public_pb.ts";
import { asInt32, bytesOf, floatsOf, intsOf, invalidBody, longBytes, longsOf } from "./bytes.ts";

/**
 * A dense tensor of the Tinker API. `data` is row by row: Float32Array for `float32`, Int32Array for `int64` (token ids
 * and masks fit into 32 bits). The API's sparse tensors become dense when they are read.
 */
export interface TinkerTensor {
  readonly dtype: "float32" | "int64";
  readonly data: Float32Array | Int32Array;
  readonly shape: readonly number[];
}

/** The JSON form of a tensor. */
export interface TensorJson {
  readonly data: readonly number[];
  readonly dtype: "float32" | "int64";
  readonly shape?: readonly number[] | null | undefined;
  readonly sparse_crow_indices?: readonly number[] | null | undefined;
  readonly sparse_col_indices?: readonly number[] | null | undefined;
}

/**
 * The maximum number of values of all sparse tensors of a message together, when they are dense. The shape of a sparse
 * tensor can be much larger than its data.
 */
const maxDenseValues = 2 ** 24;

/** Counts the values that the sparse tensors of one message have when they are dense. */
export class DenseBudget {
  #left = maxDenseValues;

  /** Throws `server.invalid-request` before memory is allocated for more values than a message may have. */
  take(values: number): void {
    this.#left -= values;
    if (this.#left >= 0) return;
    throw invalidBody(`The sparse tensors of a request have more than ${maxDenseValues} values when they are dense.`);
  }
}

/** Checks the JSON form of a tensor. */
export const tensorJsonSchema: z.ZodType<TensorJson> = z.object({
  data: numbers,
  dtype: z.enum(["float32", "int64"]),
  shape: integers.nullish(),
  sparse_crow_indices: integers.nullish(),
  sparse_col_indices: integers.nullish(),
});

/** Returns a tensor of one dimension: float32 for a Float32Array, int64 for an Int32Array. */
export function vector(data: Float32Array | Int32Array): TinkerTensor {
  return { dtype: data instanceof Float32Array ? "float32" : "int64", data, shape: [data.length] };
}

/** Reads a tensor from JSON. Throws `server.invalid-request` if shape and data do not fit, or if the budget is spent. */
export function tensorFromJson(json: TensorJson, budget: DenseBudget = new DenseBudget()): TinkerTensor {
  const { dtype } = json;
  const data = dtype === "float32" ? Float32Array.from(json.data) : Int32Array.from(json.data, asInt32);
  return denseTensor({
    dtype,
    data,
    shape: json.shape ?? [data.length],
    rows: json.sparse_crow_indices ?? undefined,
    columns: json.sparse_col_indices ?? undefined,
    budget,
  });
}

/** Writes a tensor as JSON. */
export function tensorToJson({ data, dtype, shape }: TinkerTensor): TensorJson {
  return { data: [...data], dtype, shape };
}

/** Reads a tensor from its message. Throws as {@link tensorFromJson} does. */
export function tensorFromMessage(message: TensorMessage, budget: DenseBudget = new DenseBudget()): TinkerTensor {
  const { encoding } = message;
  const sparse = encoding.case === "sparseCsr" ? encoding.value : undefined;
  const bytes = encoding.case === "dense" ? encoding.value : (sparse?.values ?? new Uint8Array());
  const { dtype, data } = valuesOf(bytes, message.dtype);
  const shape = message.shape.map(Number);
  return denseTensor({
    dtype,
    data,
    shape: shape.length === 0 ? [data.length] : shape,
    rows: sparse && [...longsOf(sparse.crowIndices)],
    columns: sparse && [...longsOf(sparse.colIndices)],
    budget,
  });
}

/** Writes a tensor as a message. */
export function tensorToMessage({ data, dtype, shape }: TinkerTensor): TensorMessage {
  return create(TensorSchema, {
    encoding: { case: "dense", value: dtype === "float32" ? bytesOf(data as Float32Array) : longBytes(data) },
    dtype: dtype === "float32" ? DType.DTYPE_FLOAT32 : DType.DTYPE_INT64,
    shape: shape.map(BigInt),
  });
}

/** Reads the values of a message of this type. bfloat16 becomes float32, and int32 becomes int64. */
export function valuesOf(bytes: Uint8Array, type: DType): Pick<TinkerTensor, "dtype" | "data"> {
  switch (type) {
    case DType.DTYPE_FLOAT32:
      return { dtype: "float32", data: floatsOf(bytes) };
    case DType.DTYPE_INT64:
      return { dtype: "int64", data: longsOf(bytes) };
    case DType.DTYPE_INT32:
      return { dtype: "int64", data: intsOf(bytes) };
    case DType.DTYPE_BFLOAT16: {
      const wide = new Uint8Array(bytes.length * 2);
      for (let i = 0; i < bytes.length; i++) wide[(i >> 1) * 4 + 2 + (i & 1)] = bytes[i]!;
      return { dtype: "float32", data: floatsOf(wide) };
    }
    default:
      throw invalidBody("A tensor has no data type.");
  }
}

interface GivenTensor extends TinkerTensor {
  /** The offsets of the rows in compressed rows. */
  readonly rows: readonly number[] | undefined;
  readonly columns: readonly number[] | undefined;
  readonly budget: DenseBudget;
}

function denseTensor({ dtype, data, shape, rows, columns, budget }: GivenTensor): TinkerTensor {
  if (shape.some((length) => length < 0)) throw invalidBody(`A tensor has the shape [${shape.slice(0, 10)}].`);
  const count = shape.reduce((product, length) => product * length, 1);
  if (rows === undefined && columns === undefined) {
    if (count !== data.length)
      throw invalidBody(`A tensor of shape [${shape.slice(0, 10)}] has ${data.length} values.`);
    return { dtype, data, shape };
  }
  const [height, width] = shape;
  checkSparse({ shape, values: data.length, rows, columns });
  budget.take(count);
  const dense = dtype === "float32" ? new Float32Array(count) : new Int32Array(count);
  for (let row = 0; row < height!; row++) {
    for (let i = rows![row]!; i < rows![row + 1]!; i++) dense[row * width! + columns![i]!] = data[i]!;
  }
  return { dtype, data: dense, shape };
}

/**
 * Throws `server.invalid-request` if the indices of compressed rows do not fit a tensor of this shape with this number of
 * values.
 */
export function checkSparse(tensor: {
  readonly shape: readonly number[];
  readonly values: number;
  readonly rows: readonly number[] | undefined;
  readonly columns: readonly number[] | undefined;
}): void {
  const { shape, values, rows, columns } = tensor;
  const [height, width] = shape;
  const fits =
    shape.length === 2 &&
    width! >= 0 &&
    rows?.length === height! + 1 &&
    columns?.length === values &&
    rows[0] === 0 &&
    rows.at(-1) === values &&
    rows.every((row, i) => i === 0 || row >= rows[i - 1]!) &&
    columns.every((column) => column >= 0 && column < width!);
  if (!fits) throw invalidBody(`The indices of a sparse tensor of shape [${shape}] do not fit.`);
}
