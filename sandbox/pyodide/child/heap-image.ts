const pageBytes = 65_536;

/** A memory as it was at one moment, to go back to again and again. Stretches of zeros, nearly half, are not kept. */
export class HeapImage {
  readonly #parts: { readonly start: number; readonly end: number; readonly bytes: Uint8Array | undefined }[] = [];
  readonly #length: number;

  constructor(heap: Uint8Array) {
    this.#length = heap.length;
    const zeros = Buffer.alloc(pageBytes);
    const isZero = (at: number): boolean => zeros.equals(heap.subarray(at, at + pageBytes));
    for (let start = 0; start < heap.length; ) {
      const zero = isZero(start);
      let end = start + pageBytes;
      while (end < heap.length && isZero(end) === zero) end += pageBytes;
      this.#parts.push({ start, end, bytes: zero ? undefined : heap.slice(start, end) });
      start = end;
    }
  }

  /** Writes it over a memory, which may have grown since: that part becomes zero. */
  restore(heap: Uint8Array): void {
    for (const { start, end, bytes } of this.#parts) {
      if (bytes === undefined) heap.fill(0, start, end);
      else heap.set(bytes, start);
    }
    heap.fill(0, this.#length);
  }
}
