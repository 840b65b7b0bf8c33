import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decodeFloats,
  encodeFloats,
  type WritableDtype,
} from "../../trainers/model-folders/weights/float-conversion.ts";

/** Returns the bits of a float32 as a number. */
function bits(value: number): number {
  return new Uint32Array(Float32Array.of(value).buffer)[0]!;
}

function fromBits(word: number): Float32Array {
  return new Float32Array(Uint32Array.of(word).buffer);
}

function encodeHalf(dtype: WritableDtype, values: Float32Array): number {
  const bytes = encodeFloats(dtype, values);
  return bytes[0]! | (bytes[1]! << 8);
}

function decode(dtype: "BF16" | "F16" | "F64", bytes: ArrayBuffer, count: number): Float32Array {
  const into = new Float32Array(count);
  decodeFloats(dtype, new Uint8Array(bytes), into);
  return into;
}

describe("float32 to bfloat16", () => {
  it.each([
    ["zero", 0x00000000, 0x0000],
    ["minus zero", 0x80000000, 0x8000],
    ["one", 0x3f800000, 0x3f80],
    ["just below half way: down", 0x3f807fff, 0x3f80],
    ["half way to an odd neighbour: down to even", 0x3f808000, 0x3f80],
    ["just above half way: up", 0x3f808001, 0x3f81],
    ["half way above an odd one: up to even", 0x3f818000, 0x3f82],
    ["half way, negative: to even", 0xbf818000, 0xbf82],
    ["rounding that carries into the exponent", 0x3fffffff, 0x4000],
    ["the largest float32, which rounds to infinity", 0x7f7fffff, 0x7f80],
    ["the largest that does not", 0x7f7f7fff, 0x7f7f],
    ["infinity", 0x7f800000, 0x7f80],
    ["minus infinity", 0xff800000, 0xff80],
    ["the smallest subnormal, which vanishes", 0x00000001, 0x0000],
    ["a subnormal half way: to even", 0x00008000, 0x0000],
    ["a subnormal above half way", 0x00008001, 0x0001],
    ["a subnormal half way above an odd one", 0x00018000, 0x0002],
    ["the largest subnormal, which becomes normal", 0x007fffff, 0x0080],
    ["a quiet NaN", 0x7fc00000, 0x7fc0],
    ["a NaN whose kept bits are all zero stays one", 0x7f800001, 0x7fc0],
    ["a negative NaN with all bits set", 0xffffffff, 0xffff],
  ])("of %s", (_, word, expected) => {
    expect(encodeHalf("BF16", fromBits(word))).toBe(expected);
  });

  it("gives the nearest bfloat16, and the even one for ties", () => {
    const finite = fc.nat({ max: 0xffffffff }).filter((word) => (word & 0x7f800000) !== 0x7f800000);
    fc.assert(
      fc.property(finite, (word) => {
        const value = fromBits(word)[0]!;
        const half = encodeHalf("BF16", fromBits(word));
        // In order of magnitude. The value after the largest is 2^128, in the place of infinity.
        const read = (candidate: number): number => {
          const magnitude = candidate & 0x7fff;
          return magnitude === 0x7f80 ? 2 ** 128 : fromBits(magnitude << 16)[0]!;
        };
        const error = Math.abs(Math.abs(value) - read(half));
        for (const neighbour of [(half & 0x7fff) - 1, (half & 0x7fff) + 1]) {
          if (neighbour < 0 || neighbour > 0x7f80) continue;
          const other = Math.abs(Math.abs(value) - read(neighbour));
          expect(error).toBeLessThanOrEqual(other);
          if (error === other) expect(half % 2).toBe(0);
        }
        expect(half >>> 15).toBe(word >>> 31);
      }),
      { numRuns: 5000 },
    );
  });
});

describe("to float32", () => {
  it("reads every bfloat16 exactly, and writes it back to the bit", () => {
    const halves = Uint16Array.from({ length: 65536 }, (_, i) => i);
    const floats = decode("BF16", halves.buffer, 65536);
    const words = new Uint32Array(floats.buffer);
    for (let i = 0; i < 65536; i++) if (words[i] !== i * 65536) expect.fail(`${i} became ${words[i]}`);
    const back = new Uint16Array(encodeFloats("BF16", floats).buffer);
    const isNan = (half: number): boolean => (half & 0x7fff) > 0x7f80;
    for (let i = 0; i < 65536; i++) if (back[i] !== (isNan(i) ? i | 0x40 : i)) expect.fail(`${i} became ${back[i]}`);
  });

  it.each([
    ["one", 0x3c00, 1],
    ["minus two", 0xc000, -2],
    ["the largest", 0x7bff, 65504],
    ["the smallest normal", 0x0400, 2 ** -14],
    ["the smallest subnormal", 0x0001, 2 ** -24],
    ["the largest subnormal", 0x03ff, 1023 * 2 ** -24],
    ["minus zero", 0x8000, -0],
    ["infinity", 0x7c00, Number.POSITIVE_INFINITY],
    ["NaN", 0x7e00, Number.NaN],
  ])("reads float16 %s", (_, half, expected) => {
    expect(decode("F16", Uint16Array.of(half).buffer, 1)[0]).toBe(expected);
  });

  it("rounds float64", () => {
    const values = Float64Array.of(0.1, -1e300, 2 ** -149, Math.PI);
    expect(decode("F64", values.buffer, 4)).toEqual(Float32Array.from(values, Math.fround));
  });

  it("writes only to the given range, also in shared memory", () => {
    const shared = new Float32Array(new SharedArrayBuffer(16)).fill(7);
    decodeFloats("BF16", new Uint8Array(Uint16Array.of(0x3f80, 0x4000).buffer), shared.subarray(1, 3));
    expect([...shared]).toEqual([7, 1, 2, 7]);
  });
});

describe("float32 to the other types", () => {
  it("gives float16 rounded to even", () => {
    expect(encodeHalf("F16", Float32Array.of(1 + 2 ** -11))).toBe(0x3c00);
    expect(encodeHalf("F16", Float32Array.of(1 + 3 * 2 ** -11))).toBe(0x3c02);
    expect(encodeHalf("F16", Float32Array.of(Number.NEGATIVE_INFINITY))).toBe(0xfc00);
    expect(encodeHalf("F16", Float32Array.of(Number.NaN)) & 0x7fff).toBeGreaterThan(0x7c00);
  });

  it("refuses values too large for float16", () => {
    expect(encodeHalf("F16", Float32Array.of(65519))).toBe(0x7bff);
    expect(() => encodeFloats("F16", Float32Array.of(0, -65520))).toThrow(
      expect.objectContaining({ code: "model.unsupported", message: expect.stringContaining("-65520") }),
    );
  });

  it("gives float32 as a view of memory", () => {
    const bytes = encodeFloats("F32", Float32Array.of(1, -0.5).subarray(1));
    expect([...bytes]).toEqual([0, 0, 0, 0xbf]);
    expect(bits(-0.5)).toBe(0xbf000000);
  });
});
