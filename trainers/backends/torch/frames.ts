import { LyceumError } from "../../../src/contract/errors/index.ts";

/** An array of a frame. */
export type FrameArray = Int32Array | Float32Array | Uint8Array;

/** The arrays of a frame by name, with their shapes. A shape of one dimension may be left out. */
export type FrameArrays = Readonly<Record<string, FrameArray>>;

/** A header and its arrays. */
export interface Frame {
  readonly header: Readonly<Record<string, unknown>>;
  readonly arrays: FrameArrays;
}

const maxHeaderBytes = 64 * 2 ** 20;
const maxArrayBytes = 512 * 2 ** 20;
const kinds = { i32: Int32Array, f32: Float32Array, u8: Uint8Array } as const;

/**
 * Encodes a frame: a u32 with the length of the header, a u32 with the length of the arrays, a JSON header whose
 * `arrays` lists name, type and shape of each, and the arrays one after another. All numbers are little-endian, as on
 * every machine that PyTorch runs on. `shapes` gives the shapes that are not plain lengths.
 */
export function encodeFrame(
  header: Readonly<Record<string, unknown>>,
  arrays: FrameArrays = {},
  shapes: Readonly<Record<string, readonly number[]>> = {},
): Buffer[] {
  const listed = Object.entries(arrays).map(([name, array]) => {
    return [name, kindOf(array), Object.hasOwn(shapes, name) ? shapes[name] : [array.length]];
  });
  const parts = Object.values(arrays).map((array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength));
  const head = Buffer.from(JSON.stringify({ ...header, arrays: listed }));
  const bytes = parts.reduce((sum, part) => sum + part.length, 0);
  if (head.length > maxHeaderBytes || bytes > maxArrayBytes) {
    throw new LyceumError({
      code: "backend.unsupported",
      message: `A call of ${bytes} bytes is too large for the PyTorch worker.`,
      hint: "Lower training.maxTokensPerMicroBatch, or sample fewer prompts at a time.",
    });
  }
  const lengths = Buffer.alloc(8);
  lengths.writeUInt32LE(head.length, 0);
  lengths.writeUInt32LE(bytes, 4);
  return [lengths, head, ...parts];
}

function kindOf(array: FrameArray): keyof typeof kinds {
  return array instanceof Int32Array ? "i32" : array instanceof Float32Array ? "f32" : "u8";
}

/** Splits a stream of bytes into frames. Throws `backend.failed` for bytes that are no frame. */
export class FrameReader {
  #chunks: Buffer[] = [];
  #bytes = 0;

  /** Adds bytes and returns the frames that they complete. */
  push(chunk: Buffer): Frame[] {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    const frames: Frame[] = [];
    while (this.#bytes >= 8) {
      const lengths = this.#peek(8);
      const [headBytes, arrayBytes] = [lengths.readUInt32LE(0), lengths.readUInt32LE(4)];
      if (headBytes > maxHeaderBytes || arrayBytes > maxArrayBytes) {
        throw notAFrame(`it announces ${headBytes} and ${arrayBytes} bytes`);
      }
      if (this.#bytes < 8 + headBytes + arrayBytes) break;
      const whole = this.#peek(8 + headBytes + arrayBytes);
      this.#chunks = [this.#chunks[0]!.subarray(whole.length)];
      this.#bytes -= whole.length;
      frames.push(decodeFrame(whole.subarray(8, 8 + headBytes), whole.subarray(8 + headBytes)));
    }
    return frames;
  }

  /** Returns the first bytes in one buffer, which becomes the first chunk. */
  #peek(count: number): Buffer {
    if (this.#chunks[0]!.length < count) this.#chunks = [Buffer.concat(this.#chunks)];
    return this.#chunks[0]!.subarray(0, count);
  }
}

function decodeFrame(head: Buffer, body: Buffer): Frame {
  const { arrays: listed, ...header } = parseHeader(head);
  const arrays: Record<string, FrameArray> = {};
  let start = 0;
  for (const [name, kind, shape] of listed) {
    const length = shape.reduce((product, size) => product * size, 1);
    const type = kinds[kind];
    if (type === undefined) throw notAFrame(`it has the type ${kind}`);
    const end = start + length * type.BYTES_PER_ELEMENT;
    if (end > body.length) throw notAFrame("its arrays are longer than announced");
    // A copy, because a view must begin at a multiple of its element's size.
    arrays[name] = new type(new Uint8Array(body.subarray(start, end)).buffer);
    start = end;
  }
  return { header, arrays };
}

function parseHeader(head: Buffer): Readonly<Record<string, unknown>> & {
  readonly arrays: readonly (readonly [name: string, kind: keyof typeof kinds, shape: readonly number[]])[];
} {
  try {
    return JSON.parse(head.toString("utf8"));
  } catch (cause) {
    throw notAFrame("its header is no JSON", cause);
  }
}

function notAFrame(why: string, cause?: unknown): LyceumError {
  return new LyceumError({
    code: "backend.failed",
    message: `The PyTorch worker has sent something that is no frame: ${why}.`,
    hint: "A package that the worker loads may write to its file descriptors. Try a fresh environment: lyceum setup torch.",
    cause,
  });
}
