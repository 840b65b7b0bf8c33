import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LyceumError } from "../../src/contract/errors/lyceum-error.ts";
import {
  parseSafetensorsHeader,
  readHeaderLength,
  type TensorLocation,
} from "../../trainers/model-folders/weights/safetensors-header.ts";
import { safetensorsBytes } from "./weights-folder.ts";

/** Parses a whole file as the reader does. */
function parse(bytes: Uint8Array): ReadonlyMap<string, TensorLocation> {
  const file = "some.safetensors";
  const length = readHeaderLength({ file, fileSize: bytes.length, start: bytes.subarray(0, 8) });
  return parseSafetensorsHeader({ file, fileSize: bytes.length, header: bytes.subarray(8, 8 + length) });
}

const entry = (dtype: string, shape: unknown, offsets: unknown) => ({ dtype, shape, data_offsets: offsets });
const a = entry("F32", [2], [0, 8]);

describe("a valid header", () => {
  it("gives types, shapes and offsets in the file", () => {
    const header = { b: entry("BF16", [2, 3], [8, 20]), a, __metadata__: { format: "pt" } };
    const start = 8 + JSON.stringify(header).length;
    expect(Object.fromEntries(parse(safetensorsBytes(header, new Uint8Array(20))))).toEqual({
      a: { dtype: "F32", shape: [2], byteOffset: start, byteLength: 8 },
      b: { dtype: "BF16", shape: [2, 3], byteOffset: start + 8, byteLength: 12 },
    });
  });

  it.each([
    ["no tensors", {}, 0],
    ["scalars", { a: entry("F64", [], [0, 8]) }, 8],
    ["tensors without elements", { a: entry("F32", [0, 5], [0, 0]), b: entry("F32", [1], [0, 4]) }, 4],
    ["an empty tensor at the end", { a, b: entry("F32", [0], [8, 8]) }, 8],
    ["elements smaller than a byte", { a: entry("F4", [4], [0, 2]) }, 2],
    [
      "a name that objects have already",
      JSON.parse('{"__proto__": {"dtype":"U8","shape":[1],"data_offsets":[0,1]}}'),
      1,
    ],
  ])("may contain %s", (_, header, dataLength) => {
    expect(parse(safetensorsBytes(header, new Uint8Array(dataLength))).size).toBe(Object.keys(header).length);
  });

  it("may be padded with spaces", () => {
    expect(parse(safetensorsBytes(`${JSON.stringify({ a })}      `, new Uint8Array(8))).size).toBe(1);
  });
});

describe("a malformed file", () => {
  it.each([
    ["nothing", new Uint8Array(), /shorter/],
    ["half a length", new Uint8Array(7), /shorter/],
    ["a length beyond the file", safetensorsBytes("{}", undefined, 3), /claims 3 bytes/],
    ["a length beyond the format's limit", safetensorsBytes("{}", undefined, 100_000_001), /100000001/],
    ["a length of all ones", Buffer.alloc(16, 0xff), /18446744073709551615/],
    ["an empty header", safetensorsBytes(""), /begin with/],
    ["a space before the header", safetensorsBytes(" {}"), /begin with/],
    ["JSON cut short", safetensorsBytes('{"a": '), /not JSON/],
    ["two values", safetensorsBytes("{}{}"), /not JSON/],
    [
      "text that is not UTF-8",
      safetensorsBytes({ "?": entry("U8", [0], [0, 0]) }).map((byte) => (byte === 0x3f ? 0xff : byte)),
      /not JSON/,
    ],
    ["a list of tensors", safetensorsBytes("[]"), /begin with/],
    ["bytes after the tensors", safetensorsBytes({ a }, new Uint8Array(9)), /end at byte/],
    ["bytes missing from the tensors", safetensorsBytes({ a }, new Uint8Array(7)), /end at byte/],
    ["bytes and no tensors", safetensorsBytes({}, new Uint8Array(1)), /end at byte/],
    ["an overlap", safetensorsBytes({ a, b: entry("F32", [2], [4, 12]) }, new Uint8Array(12)), /begins at byte/],
    ["two tensors in one place", safetensorsBytes({ a, b: a }, new Uint8Array(8)), /begins at byte/],
    ["a gap", safetensorsBytes({ a, b: entry("F32", [1], [12, 16]) }, new Uint8Array(16)), /begins at byte/],
    ["a gap at the beginning", safetensorsBytes({ a: entry("F32", [1], [4, 8]) }, new Uint8Array(8)), /begins at byte/],
    [
      "a key written twice, the first lost",
      safetensorsBytes(
        '{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}',
        new Uint8Array(2),
      ),
      /begins at byte/,
    ],
    ["offsets backwards", safetensorsBytes({ a: entry("F32", [2], [8, 0]) }, new Uint8Array(8)), /data_offsets/],
    ["offsets below zero", safetensorsBytes({ a: entry("F32", [2], [-8, 0]) }), /data_offsets/],
    ["three offsets", safetensorsBytes({ a: entry("F32", [2], [0, 8, 8]) }, new Uint8Array(8)), /data_offsets/],
    [
      "offsets that are no integers",
      safetensorsBytes({ a: entry("F32", [2], [0.5, 8.5]) }, new Uint8Array(9)),
      /data_offsets/,
    ],
    ["no offsets", safetensorsBytes({ a: { dtype: "F32", shape: [2] } }, new Uint8Array(8)), /data_offsets/],
    [
      "a shape larger than its bytes",
      safetensorsBytes({ a: entry("F32", [3], [0, 8]) }, new Uint8Array(8)),
      /needs 12 bytes but has 8/,
    ],
    [
      "a shape smaller than its bytes",
      safetensorsBytes({ a: entry("F32", [1], [0, 8]) }, new Uint8Array(8)),
      /needs 4 bytes/,
    ],
    ["half a byte", safetensorsBytes({ a: entry("F4", [3], [0, 2]) }, new Uint8Array(2)), /needs 1.5 bytes/],
    [
      "a shape that overflows",
      safetensorsBytes({ a: entry("F32", Array(40).fill(2 ** 50), [0, 8]) }, new Uint8Array(8)),
      /bytes/,
    ],
    [
      "a shape that overflows to nothing",
      safetensorsBytes({ a: entry("F32", [...Array(40).fill(2 ** 50), 0], [0, 0]) }),
      /bytes/,
    ],
    ["a shape below zero", safetensorsBytes({ a: entry("F32", [-1, -2], [0, 8]) }, new Uint8Array(8)), /shape/],
    ["no shape", safetensorsBytes({ a: { dtype: "F32", data_offsets: [0, 8] } }, new Uint8Array(8)), /shape/],
    ["a shape that is text", safetensorsBytes({ a: entry("F32", "2", [0, 8]) }, new Uint8Array(8)), /shape/],
    ["an unknown type", safetensorsBytes({ a: entry("F31", [2], [0, 8]) }, new Uint8Array(8)), /unknown type "F31"/],
    [
      "a type that objects have",
      safetensorsBytes({ a: entry("toString", [2], [0, 8]) }, new Uint8Array(8)),
      /unknown type/,
    ],
    ["no type", safetensorsBytes({ a: { shape: [2], data_offsets: [0, 8] } }, new Uint8Array(8)), /unknown type/],
    ["an entry that is null", safetensorsBytes({ a: null }), /not an object/],
    ["metadata that are not text", safetensorsBytes({ __metadata__: { step: 1 } }), /__metadata__/],
    ["metadata that are a list", safetensorsBytes({ __metadata__: [] }), /__metadata__/],
  ])("of %s is refused with the file and the reason", (_, bytes, reason) => {
    expect(() => parse(bytes)).toThrow(expect.objectContaining({ code: "model.malformed" }));
    expect(() => parse(bytes)).toThrow(/some\.safetensors/);
    expect(() => parse(bytes)).toThrow(reason);
  });
});

/** Fails unless the result is a typed error, or tensors within the file that cover it. */
function checkOutcome(bytes: Uint8Array): void {
  let tensors: ReadonlyMap<string, TensorLocation>;
  try {
    tensors = parse(bytes);
  } catch (error) {
    expect(LyceumError.isInstance(error) && error.code).toBe("model.malformed");
    return;
  }
  let total = 0;
  for (const { byteOffset, byteLength } of tensors.values()) {
    expect(byteOffset).toBeGreaterThanOrEqual(8);
    expect(byteOffset + byteLength).toBeLessThanOrEqual(bytes.length);
    total += byteLength;
  }
  expect(total).toBeLessThanOrEqual(bytes.length - 8);
}

describe("any file", () => {
  const size = fc.oneof(fc.nat({ max: 9 }), fc.integer(), fc.double(), fc.constantFrom(2 ** 53, 1e308));
  const wildEntry = fc.oneof(
    fc.record(
      {
        dtype: fc.oneof(fc.constantFrom("F32", "BF16", "U8", "F4"), fc.string()),
        shape: fc.oneof(fc.array(size), fc.jsonValue()),
        data_offsets: fc.oneof(fc.tuple(size, size), fc.jsonValue()),
      },
      { requiredKeys: [] },
    ),
    fc.jsonValue(),
  );
  const names = fc.oneof(fc.constantFrom("__metadata__", "__proto__", "a"), fc.string());

  it("with random entries is read completely or refused", () => {
    fc.assert(
      fc.property(fc.dictionary(names, wildEntry), fc.uint8Array({ maxLength: 40 }), (header, data) => {
        checkOutcome(safetensorsBytes(header, data));
      }),
      { numRuns: 2000 },
    );
  });

  it("of random bytes is read completely or refused", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        checkOutcome(bytes);
      }),
      { numRuns: 2000 },
    );
  });

  it("with one byte changed or its end cut off is read completely or refused", () => {
    const header = { a, b: entry("BF16", [2, 2], [8, 16]), __metadata__: { format: "pt" } };
    const good = safetensorsBytes(header, new Uint8Array(16));
    fc.assert(
      fc.property(fc.nat({ max: good.length - 1 }), fc.nat({ max: 255 }), fc.nat({ max: 20 }), (at, byte, cut) => {
        const bytes = Uint8Array.from(good);
        bytes[at] = byte;
        checkOutcome(bytes.subarray(0, bytes.length - cut));
      }),
      { numRuns: 2000 },
    );
  });
});
