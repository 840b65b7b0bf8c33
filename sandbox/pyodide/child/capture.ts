/** Keeps the first bytes of an output and counts the rest. */
export class Capture {
  #room = 0;
  #bytes = 0;
  #kept: Buffer[] = [];

  /** Forgets what was kept; keeps at most `room` bytes from now on. */
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

  /** What was written. Text that is no UTF-8 has U+FFFD in its place. */
  get output(): { readonly text: string; readonly bytes: number; readonly truncated: boolean } {
    return {
      text: Buffer.concat(this.#kept).toString(),
      bytes: this.#bytes,
      truncated: this.#bytes > this.#room,
    };
  }
}
