import fc from "fast-check";
import { expect, it } from "vitest";
import { encodeFrame, type Frame, FrameReader } from "../../../trainers/backends/torch/frames.ts";

it("reads the frames that were written, in pieces of any size", () => {
  const array = fc.oneof(
    fc.array(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })).map((values) => Int32Array.from(values)),
    fc.array(fc.float()).map((values) => Float32Array.from(values)),
    fc.uint8Array(),
  );
  const frame = fc.record({
    header: fc.dictionary(fc.stringMatching(/^[a-z]+$/), fc.string()),
    arrays: fc.dictionary(fc.stringMatching(/^[a-z]+$/), array),
  });
  fc.assert(
    fc.property(fc.array(frame, { maxLength: 4 }), fc.integer({ min: 1, max: 50 }), (frames, size) => {
      const bytes = Buffer.concat(
        frames.flatMap(({ header, arrays }) => encodeFrame({ ...header, arrays: undefined }, arrays)),
      );
      const reader = new FrameReader();
      const read: Frame[] = [];
      for (let i = 0; i < bytes.length; i += size) read.push(...reader.push(bytes.subarray(i, i + size)));
      const expected = frames.map(({ header: { arrays: _, ...header }, arrays }) => ({ header, arrays }));
      expect(read).toEqual(expected);
    }),
  );
});

it("reads arrays that are named as a method of every object", () => {
  const arrays = { toString: Int32Array.of(1, 2), constructor: Float32Array.of(0.5) };
  const [frame] = new FrameReader().push(Buffer.concat(encodeFrame({ id: 1 }, arrays)));
  expect(frame!.arrays).toEqual(arrays);
});

it.each([
  ["a header of 1 GB", 2 ** 30, 0, /announces 1073741824/],
  ["arrays of 1 GB", 2, 2 ** 30, /announces 2 and 1073741824/],
])("refuses %s before it is read", (_, header, arrays, message) => {
  const lengths = Buffer.alloc(8);
  lengths.writeUInt32LE(header, 0);
  lengths.writeUInt32LE(arrays, 4);
  expect(() => new FrameReader().push(lengths)).toThrow(
    expect.objectContaining({ code: "backend.failed", message: expect.stringMatching(message) }),
  );
});

it.each([
  ["no JSON", "{", /no JSON/],
  [
    "arrays that are longer than its bytes",
    JSON.stringify({ arrays: [["a", "f32", [1000]]] }),
    /longer than announced/,
  ],
  ["an unknown type", JSON.stringify({ arrays: [["a", "f64", [1]]] }), /type/],
])("refuses a frame with %s", (_, header, message) => {
  const lengths = Buffer.alloc(8);
  lengths.writeUInt32LE(header.length, 0);
  expect(() => new FrameReader().push(Buffer.concat([lengths, Buffer.from(header)]))).toThrow(
    expect.objectContaining({ code: "backend.failed", message: expect.stringMatching(message) }),
  );
});
