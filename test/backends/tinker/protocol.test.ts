import { expect, test } from "vitest";
import {
  type PassRequest,
  passRequestFromBytes,
  passRequestFromJson,
  passRequestToBytes,
  passRequestToJson,
} from "../../../trainers/tinker/protocol/pass-request.ts";
import {
  type PassResult,
  passResultFromBytes,
  passResultFromJson,
  passResultToBytes,
  passResultToJson,
} from "../../../trainers/tinker/protocol/pass-result.ts";
import {
  type SampleResult,
  sampleResultFromBytes,
  sampleResultFromJson,
  sampleResultToBytes,
  sampleResultToJson,
} from "../../../trainers/tinker/protocol/sample-result.ts";
import {
  tensorFromJson,
  tensorFromMessage,
  tensorToMessage,
  vector,
} from "../../../trainers/tinker/protocol/tensor.ts";

const json = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

const request: PassRequest = {
  modelId: "m",
  seqId: 3,
  lossName: "ppo",
  lossConfig: { clip_low_threshold: 0.8, mode: "text" },
  data: [
    {
      tokens: Int32Array.of(1, 70_000, 3),
      lossInputs: {
        target_tokens: vector(Int32Array.of(70_000, 3, -1)),
        advantages: vector(Float32Array.of(0.1, -2.5, 1e-30)),
      },
    },
  ],
  forwardOnly: false,
};

test.each([true, false])("a request is the same in both encodings (forward only: %s)", (forwardOnly) => {
  const given = { ...request, forwardOnly };
  expect(passRequestFromJson(json(passRequestToJson(given)))).toEqual(given);
  expect(passRequestFromBytes(passRequestToBytes(given))).toEqual(given);
});

test("a result is the same in both encodings", () => {
  const result: PassResult = {
    outputs: [
      { logprobs: vector(Float32Array.of(-0.1, -7)), mask: vector(Int32Array.of(1)) },
      { logprobs: vector(Float32Array.of()), mask: vector(Int32Array.of(2, 3)) },
    ],
    metrics: { "loss:sum": 2.5 },
  };
  expect(passResultFromJson(json(passResultToJson(result)))).toEqual(result);
  expect(passResultFromBytes(passResultToBytes(result))).toEqual(result);
});

test("samples are the same in both encodings", () => {
  const result: SampleResult = {
    sequences: [
      { tokens: Int32Array.of(5, 6), logprobs: Float32Array.of(-1, -2), stopReason: "stop" },
      { tokens: Int32Array.of(7), logprobs: Float32Array.of(-3), stopReason: "length" },
    ],
    promptLogprobs: Float32Array.of(Number.NaN, -0.5),
  };
  expect(sampleResultFromJson(json(sampleResultToJson(result)))).toEqual(result);
  expect(sampleResultFromBytes(sampleResultToBytes(result))).toEqual(result);
});

test("sparse tensors become dense", () => {
  const sparse = { dtype: "float32", data: [4, 5], shape: [2, 3] } as const;
  const tensor = tensorFromJson({ ...sparse, sparse_crow_indices: [0, 1, 2], sparse_col_indices: [2, 0] });
  expect([...tensor.data]).toEqual([0, 0, 4, 5, 0, 0]);
  expect(tensorFromMessage(tensorToMessage(tensor))).toEqual(tensor);
});

test.each([
  ["a shape that does not fit", { data: [1, 2], dtype: "float32", shape: [3] }],
  ["an integer that is too large", { data: [2 ** 40], dtype: "int64" }],
  [
    "columns outside of the shape",
    { data: [1], dtype: "float32", shape: [1, 2], sparse_crow_indices: [0, 1], sparse_col_indices: [2] },
  ],
  [
    "fewer than no columns",
    { data: [], dtype: "float32", shape: [1, -1], sparse_crow_indices: [0, 0], sparse_col_indices: [] },
  ],
  [
    "a negative column",
    { data: [1], dtype: "float32", shape: [2, 2], sparse_crow_indices: [0, 0, 1], sparse_col_indices: [-1] },
  ],
  [
    "a sparse tensor that is huge when dense",
    { data: [], dtype: "float32", shape: [1, 2 ** 40], sparse_crow_indices: [0, 0], sparse_col_indices: [] },
  ],
] as const)("a tensor with %s is refused", (_, tensor) => {
  expect(() => tensorFromJson(tensor)).toThrow(expect.objectContaining({ code: "server.invalid-request" }));
});

test("a provenance span with a negative length is refused", () => {
  const span = { source: "sampled", sequenceId: "s", offset: 0 } as const;
  const targetSpans = [
    { ...span, length: 5 },
    { ...span, length: -2 },
  ];
  const bytes = passRequestToBytes({ ...request, data: [{ ...request.data[0]!, targetSpans }] });
  expect(() => passRequestFromBytes(bytes)).toThrow(expect.objectContaining({ code: "server.invalid-request" }));
});

test("bytes that are no message are refused", () => {
  const bytes = Uint8Array.of(255, 255, 255);
  for (const read of [passRequestFromBytes, passResultFromBytes, sampleResultFromBytes]) {
    expect(() => read(bytes)).toThrow(expect.objectContaining({ code: "server.invalid-request" }));
  }
});
