/** Encodes a message between a sandbox and a worker: its length in four bytes, then JSON. */
export function frame(message: unknown): Buffer {
  const body = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(4);
  head.writeUInt32BE(body.length);
  return Buffer.concat([head, body]);
}

/** Collects chunks of a stream and returns complete frames as text. */
export class FrameReader {
  readonly #longest: number;
  #chunks: Buffer[] = [];
  #size = 0;

  /** Frames longer than `longest` bytes throw an error. An honest runner sends none. */
  constructor(longest: number) {
    this.#longest = longest;
  }

  push(chunk: Buffer): string[] {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    const frames: string[] = [];
    while (this.#size >= 4) {
      const length = this.#head(4).readUInt32BE();
      if (length > this.#longest) throw new RangeError(`A frame of ${length} bytes.`);
      if (this.#size < 4 + length) break;
      const all = this.#head(4 + length);
      frames.push(all.toString("utf8", 4, 4 + length));
      this.#chunks = [all.subarray(4 + length)];
      this.#size -= 4 + length;
    }
    return frames;
  }

  /** Returns the chunks as one buffer if the first chunk is shorter than `size`. */
  #head(size: number): Buffer {
    if (this.#chunks[0]!.length < size) this.#chunks = [Buffer.concat(this.#chunks)];
    return this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat([this.#chunks[0]!]);
  }
}
