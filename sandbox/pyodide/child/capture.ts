/** Keeps the first bytes of an output and counts the rest. */
export class Capture {
  #room = 0;
  #bytes = 0;
  #kept: Buffer[] = [];

  /** Discards what was kept. Keeps at most `room` bytes from now on. */
  reset(room: number): void {
    this.#room = room;
    this.#bytes = 0;
    this.#kept = [];
  }

  write(bytes: Uint8Array): number {
    if (this.#bytes < this.#room) this.#kept.push(Buffer.from(bytes.subarray(0, this.#room - this.#bytes)));
    this.#bytes += bytes.length;
    return bytes.length;
  }

  /** The output. Bytes that are not valid UTF-8 are replaced by U+FFFD. */
  get output(): { readonly text: string; readonly bytes: number; readonly truncated: boolean } {
    return {
      text: Buffer.concat(this.#kept).toString(),
      bytes: this.#bytes,
      truncated: this.#bytes > this.#room,
    };
  }
}
