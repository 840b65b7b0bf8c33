import { create, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { BatchStepRequestSchema } from "../../../server/grpc/generated/lyceum/v1/environment_pb.ts";
import { GenerateRequestSchema } from "../../../server/grpc/generated/lyceum/v1/model_pb.ts";
import { parseLimitedJson } from "../../../src/core/network/limited-json.ts";
import { listOf, recordOf } from "../../../src/core/network/list-schema.ts";
import { checkProtobufSize } from "../../../src/core/network/protobuf-size.ts";
import { passRequestFromJson } from "../../../trainers/tinker/protocol/pass-request.ts";
import { tensorFromJson } from "../../../trainers/tinker/protocol/tensor.ts";

const invalid = expect.objectContaining({ code: "server.invalid-request" });

/** The number of values and levels of a value, counted after it was parsed. */
function sizeOf(value: unknown): { elements: number; depth: number } {
  if (typeof value !== "object" || value === null) return { elements: 0, depth: 0 };
  const items = Object.values(value).map(sizeOf);
  const own = Math.max(1, items.length);
  return {
    elements: items.reduce((sum, { elements }) => sum + elements, own),
    depth: 1 + items.reduce((most, { depth }) => Math.max(most, depth), 0),
  };
}

describe("parseLimitedJson", () => {
  it("allows exactly the values and levels of any JSON, whatever its texts contain", () => {
    fc.assert(
      fc.property(fc.json({ stringUnit: "binary" }), fc.constantFrom(undefined, 2), (text, indent) => {
        const value = JSON.parse(text);
        const sent = JSON.stringify(value, null, indent);
        const { elements, depth } = sizeOf(value);
        expect(parseLimitedJson(sent, { maxElements: elements, maxDepth: depth })).toEqual(value);
        if (elements === 0) return;
        expect(() => parseLimitedJson(sent, { maxElements: elements - 1, maxDepth: depth })).toThrow(invalid);
        expect(() => parseLimitedJson(sent, { maxElements: elements, maxDepth: depth - 1 })).toThrow(invalid);
      }),
      { numRuns: 20 },
    );
  });

  it("creates no objects for a text with too many values", () => {
    const parse = vi.spyOn(JSON, "parse");
    try {
      expect(() => parseLimitedJson("[1,1,1,1,1]", { maxElements: 4 })).toThrow(invalid);
      expect(parse).not.toHaveBeenCalled();
    } finally {
      parse.mockRestore();
    }
  });

  it.each(["", "[", '"', '"\\', "[1,}", '{"a":1,"a', "nul"])("returns undefined for what is no JSON: %s", (text) => {
    expect(parseLimitedJson(text, { maxElements: 2, maxDepth: 2 })).toBeUndefined();
  });
});

describe("checkProtobufSize", () => {
  const batch = (count: number): Uint8Array =>
    toBinary(BatchStepRequestSchema, create(BatchStepRequestSchema, { requests: Array(count).fill({}) }));

  it("counts the messages of a list", () => {
    checkProtobufSize(BatchStepRequestSchema, batch(100), 100);
    expect(() => checkProtobufSize(BatchStepRequestSchema, batch(101), 100)).toThrow(invalid);
  });

  it("counts values inside of maps and messages", () => {
    const content = Array.from({ length: 200 }, () => ({ part: { case: "text" as const, value: "" } }));
    const requests = [{ actions: { agent: { message: { content } } } }];
    const bytes = toBinary(BatchStepRequestSchema, create(BatchStepRequestSchema, { requests }));
    checkProtobufSize(BatchStepRequestSchema, bytes, 410);
    expect(() => checkProtobufSize(BatchStepRequestSchema, bytes, 390)).toThrow(invalid);
  });

  it("takes thirty-two packed numbers for one value", () => {
    const previous = { ids: Array(3200).fill(1), messageCount: 1 };
    const bytes = toBinary(GenerateRequestSchema, create(GenerateRequestSchema, { previous }));
    checkProtobufSize(GenerateRequestSchema, bytes, 103);
    expect(() => checkProtobufSize(GenerateRequestSchema, bytes, 100)).toThrow(invalid);
  });
});

describe("schemas of lists and objects", () => {
  it("stop at the first problem", () => {
    const seen: unknown[] = [];
    const item = z.custom<number>((value) => seen.push(value) < 3);
    expect(listOf(item).safeParse([1, 2, 3, 4, 5]).error?.issues).toMatchObject([{ path: [2] }]);
    expect(seen).toEqual([1, 2, 3]);
    expect(recordOf(z.number()).safeParse({ a: 1, b: "x", c: "y" }).error?.issues).toMatchObject([{ path: ["b"] }]);
  });
});

it("bounds the sum of sparse tensors of a request before it allocates them", () => {
  const allocated = vi.spyOn(globalThis, "Float32Array");
  const sparse = (width: number) => ({
    ...{ data: [], dtype: "float32" as const, shape: [1, width] },
    ...{ sparse_crow_indices: [0, 0], sparse_col_indices: [] },
  });
  try {
    expect(() => tensorFromJson(sparse(2 ** 24 + 1))).toThrow(invalid);
    const tensors = Object.fromEntries(Array.from({ length: 5 }, (_, i) => [`t${i}`, sparse(2 ** 22)]));
    const data = [{ model_input: { chunks: [] }, loss_fn_inputs: tensors }];
    const body = { model_id: "m", forward_input: { loss_fn: "cross_entropy", data } };
    allocated.mockClear();
    expect(() => passRequestFromJson(body)).toThrow(invalid);
    const sizes = (allocated.mock.calls as unknown[][]).map(([size]) => (typeof size === "number" ? size : 0));
    expect(sizes.filter((size) => size >= 2 ** 22)).toHaveLength(4);
  } finally {
    allocated.mockRestore();
  }
});
