import type { Readable } from "node:stream";

/** Reads messages from a stream. Each is its length in 32 bits, then that many bytes. */
export class MessageReader {
  #parts: Buffer[] = [];
  #length = 0;
  #ended = false;
  #wake: () => void = () => undefined;

  constructor(stream: Readable) {
    stream.on("data", (part: Buffer) => {
      this.#parts.push(part);
      this.#length += part.length;
      this.#wake();
    });
    const end = (): void => {
      this.#ended = true;
      this.#wake();
    };
    stream.once("end", end);
    stream.once("close", end);
  }

  /**
   * Returns the next message. Undefined if the stream ends before it. Throws a RangeError if it is longer than allowed.
   */
  async next(maxBytes: number): Promise<Buffer | undefined> {
    const head = await this.#take(4);
    if (head === undefined) return undefined;
    const length = head.readUInt32LE();
    if (length > maxBytes) throw new RangeError(`A message has ${length} bytes, but the limit is ${maxBytes}.`);
    return this.#take(length);
  }

  async #take(length: number): Promise<Buffer | undefined> {
    while (this.#length < length) {
      if (this.#ended) return undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const whole = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts);
    this.#length -= length;
    this.#parts = this.#length === 0 ? [] : [whole.subarray(length)];
    return whole.subarray(0, length);
  }
}
