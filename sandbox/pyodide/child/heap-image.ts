/** Smaller ones cost more calls, larger ones more copying. In bytes; divides a page of WebAssembly. */
const blockBytes = 16_384;

/**
 * A memory as it was at one moment, to go back to again and again. What a job has not changed is read and not written:
 * a job changes little, and of stretches of zeros that were never written, nearly half, the system holds one page only.
 */
export class HeapImage {
  readonly #image: readonly Buffer[];
  readonly #zeros: Buffer = Buffer.alloc(blockBytes);
  /** The memory's blocks. When it grows, it is another buffer. */
  #blocks: readonly Buffer[];

  constructor(heap: Uint8Array) {
    this.#blocks = blocksOf(heap);
    this.#image = this.#blocks.map((block) => (this.#zeros.equals(block) ? this.#zeros : Buffer.from(block)));
  }

  /** Makes a memory equal to it; what has grown since becomes zero. */
  restore(heap: Uint8Array): void {
    if (this.#blocks[0]!.buffer !== heap.buffer) this.#blocks = blocksOf(heap);
    for (let i = 0; i < this.#blocks.length; i++) {
      const block = this.#blocks[i]!;
      const before = this.#image[i] ?? this.#zeros;
      if (!before.equals(block)) block.set(before);
    }
  }
}

/**
 * `set` of a memory's bytes that writes only where they differ: what is zero and stays so need not be provided by the
 * system.
 */
export function setWhereDifferent(this: Int8Array, source: ArrayLike<number>, offset = 0): void {
  const set = Uint8Array.prototype.set.bind(this);
  if (!(source instanceof Uint8Array) || source.buffer === this.buffer) {
    set(source, offset);
    return;
  }
  for (let at = 0; at < source.length; at += blockBytes) {
    const part = source.subarray(at, at + blockBytes);
    const before = Buffer.from(this.buffer, this.byteOffset + offset + at, part.length);
    if (!before.equals(part)) set(part, offset + at);
  }
}

function blocksOf(heap: Uint8Array): Buffer[] {
  const count = heap.length / blockBytes;
  return Array.from({ length: count }, (_, i) =>
    Buffer.from(heap.buffer, heap.byteOffset + i * blockBytes, blockBytes),
  );
}
