import { decodeFloats } from "../weights/float-conversion.ts";

/**
 * How GGUF stores the values of a tensor: in blocks of quantised values with shared scales. Formats and numbers are
 * those of https://github.com/ggml-org/ggml.
 */
export interface BlockType {
  readonly name: string;
  /** The number of values of a block. */
  readonly values: number;
  /** The size of a block. */
  readonly bytes: number;
  /** Decodes the whole blocks of `bytes`, which begins at the start of its buffer, as float32. */
  readonly decode: (bytes: Uint8Array<ArrayBuffer>, into: Float32Array) => void;
}

type DecodeBlock = (view: DataView, offset: number, into: Float32Array, at: number) => void;

/** The types of blocks that can be read, by their number in a file. */
export const blockTypes: ReadonlyMap<number, BlockType> = new Map([
  [0, floats("F32", 4, (bytes, into) => into.set(new Float32Array(bytes.buffer, bytes.byteOffset, into.length)))],
  [1, floats("F16", 2, (bytes, into) => decodeFloats("F16", bytes, into))],
  [30, floats("BF16", 2, (bytes, into) => decodeFloats("BF16", bytes, into))],
  [2, blocks("Q4_0", { values: 32, bytes: 18 }, smallBlock({ minimum: false, fifthBit: false }))],
  [3, blocks("Q4_1", { values: 32, bytes: 20 }, smallBlock({ minimum: true, fifthBit: false }))],
  [6, blocks("Q5_0", { values: 32, bytes: 22 }, smallBlock({ minimum: false, fifthBit: true }))],
  [7, blocks("Q5_1", { values: 32, bytes: 24 }, smallBlock({ minimum: true, fifthBit: true }))],
  [8, blocks("Q8_0", { values: 32, bytes: 34 }, decodeQ8)],
  [12, blocks("Q4_K", { values: 256, bytes: 144 }, superBlock({ fifthBit: false }))],
  [13, blocks("Q5_K", { values: 256, bytes: 176 }, superBlock({ fifthBit: true }))],
  [14, blocks("Q6_K", { values: 256, bytes: 210 }, decodeQ6K)],
]);

function floats(name: string, bytes: number, decode: BlockType["decode"]): BlockType {
  return { name, values: 1, bytes, decode };
}

function blocks(name: string, size: Pick<BlockType, "values" | "bytes">, decodeBlock: DecodeBlock): BlockType {
  return {
    name,
    ...size,
    decode: (bytes, into) => {
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
      for (let block = 0; block < into.length / size.values; block++) {
        decodeBlock(view, block * size.bytes, into, block * size.values);
      }
    },
  };
}

/**
 * Q4_0, Q4_1, Q5_0, Q5_1: a scale, for `_1` a minimum, for Q5 the fifth bits, then the low four bits of values i and
 * i + 16 in one byte. Without a minimum, values are centred on zero.
 */
function smallBlock({ minimum, fifthBit }: { readonly minimum: boolean; readonly fifthBit: boolean }): DecodeBlock {
  const bitsAt = minimum ? 4 : 2;
  const lowAt = bitsAt + (fifthBit ? 4 : 0);
  const centre = fifthBit ? 16 : 8;
  return (view, offset, into, at) => {
    const scale = view.getFloat16(offset, true);
    const lowest = minimum ? view.getFloat16(offset + 2, true) : 0;
    const fifth = fifthBit ? view.getUint32(offset + bitsAt, true) : 0;
    for (let i = 0; i < 32; i++) {
      const low = (view.getUint8(offset + lowAt + (i & 15)) >> (i < 16 ? 0 : 4)) & 15;
      const bits = low | (((fifth >>> i) & 1) << 4);
      into[at + i] = minimum ? scale * bits + lowest : scale * (bits - centre);
    }
  };
}

/** A scale, then 32 signed bytes. */
function decodeQ8(view: DataView, offset: number, into: Float32Array, at: number): void {
  const scale = view.getFloat16(offset, true);
  for (let i = 0; i < 32; i++) into[at + i] = scale * view.getInt8(offset + 2 + i);
}

/**
 * Q4_K, Q5_K: eight groups of 32 values, each with a six-bit scale and minimum. Groups 2i and 2i + 1 share bytes; bit i
 * of a byte of `fifth` belongs to group i.
 */
function superBlock({ fifthBit }: { readonly fifthBit: boolean }): DecodeBlock {
  return (view, offset, into, at) => {
    const scaleOfScales = view.getFloat16(offset, true);
    const scaleOfMinima = view.getFloat16(offset + 2, true);
    const packed = (i: number): number => view.getUint8(offset + 4 + i);
    const fifth = offset + 16;
    const low = fifth + (fifthBit ? 32 : 0);
    for (let group = 0; group < 8; group++) {
      const [scale, minimum] =
        group < 4
          ? [packed(group) & 63, packed(group + 4) & 63]
          : [
              (packed(group + 4) & 15) | ((packed(group - 4) >> 6) << 4),
              (packed(group + 4) >> 4) | ((packed(group) >> 6) << 4),
            ];
      const [step, lowest] = [scaleOfScales * scale!, scaleOfMinima * minimum!];
      for (let i = 0; i < 32; i++) {
        const bits = (view.getUint8(low + (group >> 1) * 32 + i) >> ((group & 1) * 4)) & 15;
        const high = fifthBit ? (view.getUint8(fifth + i) >> group) & 1 : 0;
        into[at + group * 32 + i] = step * (bits | (high << 4)) - lowest;
      }
    }
  };
}

/** Two halves of 128 values: 64 bytes of low four bits, 32 bytes of high two bits, eight signed scales. One scale at the end. */
function decodeQ6K(view: DataView, offset: number, into: Float32Array, at: number): void {
  const scale = view.getFloat16(offset + 208, true);
  for (let i = 0; i < 256; i++) {
    const [half, quarter, place] = [i >> 7, (i >> 5) & 3, i & 31];
    const low = view.getUint8(offset + half * 64 + (quarter & 1) * 32 + place) >> ((quarter >> 1) * 4);
    const high = view.getUint8(offset + 128 + half * 32 + place) >> (quarter * 2);
    const own = view.getInt8(offset + 192 + (i >> 4));
    into[at + i] = scale * own * (((low & 15) | ((high & 3) << 4)) - 32);
  }
}
