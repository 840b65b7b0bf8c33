import { create } from "@bufbuild/protobuf";
import { DType, type Tensor as TensorMessage, TensorSchema } from "../generated/tinker_public/tinker_public_pb.ts";
import { asInt32, bytesOf, invalidBody, longBytes } from "./bytes.ts";
import { checkSparse, type TensorJson } from "./tensor.ts";

/** Token ids to score at the places of a prompt after the first, and the layout of their tensor. */
export interface PromptTargets {
  /** The number of places, and the number of columns. */
  readonly shape: readonly [number, number];
  /** Row by row. -1 asks for nothing. */
  readonly ids: Int32Array;
  /** Where each row begins in `ids`, and the end. */
  readonly rows: readonly number[];
  /** The column of each id, if the tensor is sparse. */
  readonly columns?: readonly number[];
}

/** The log-probabilities of {@link PromptTargets}, 0 for -1. The answer has the layout of the request. */
export interface TargetLogprobs {
  readonly targets: PromptTargets;
  readonly logprobs: Float32Array;
}

/** Reads targets for a number of places. Throws `server.invalid-request` if they do not fit. */
export function promptTargetsFromJson(json: TensorJson, places: number): PromptTargets {
  const [height, width] = json.shape ?? [];
  if (json.dtype !== "int64" || json.shape?.length !== 2 || height !== places) {
    throw invalidBody(
      `target_prompt_logprobs is not an int64 tensor with ${places} rows, one for each token after the first.`,
    );
  }
  const ids = Int32Array.from(json.data, asInt32);
  const wrong = ids.find((id) => id < -1);
  if (wrong !== undefined) throw invalidBody(`target_prompt_logprobs has the token id ${wrong}.`);
  const shape = [height, width!] as const;
  const { sparse_crow_indices: rows, sparse_col_indices: columns } = json;
  if (rows || columns) {
    checkSparse({ shape, values: ids.length, rows: rows ?? undefined, columns: columns ?? undefined });
    return { shape, ids, rows: rows!, columns: columns! };
  }
  if (ids.length !== height * width!) throw invalidBody(`A tensor of shape [${shape}] has ${ids.length} values.`);
  return { shape, ids, rows: Array.from({ length: height + 1 }, (_, row) => row * width!) };
}

/** Writes log-probabilities as a tensor in JSON. */
export function targetLogprobsToJson({ targets, logprobs }: TargetLogprobs): TensorJson {
  const { shape, rows, columns } = targets;
  const sparse = columns === undefined ? {} : { sparse_crow_indices: rows, sparse_col_indices: columns };
  return { data: [...logprobs], dtype: "float32", shape, ...sparse };
}

/** Writes log-probabilities as a tensor's message. */
export function targetLogprobsToMessage({ targets, logprobs }: TargetLogprobs): TensorMessage {
  const { shape, rows, columns } = targets;
  const values = bytesOf(logprobs);
  return create(TensorSchema, {
    encoding:
      columns === undefined
        ? { case: "dense", value: values }
        : { case: "sparseCsr", value: { values, crowIndices: longBytes(rows), colIndices: longBytes(columns) } },
    dtype: DType.DTYPE_FLOAT32,
    shape: shape.map(BigInt),
  });
}
