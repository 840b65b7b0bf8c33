/**
 * The block size in bytes. Smaller blocks cost more calls, larger blocks more copying. It divides a WebAssembly page.
 */
const blockBytes = 16_384;

/**
 * The content of a memory at one moment, which can be restored many times. Unchanged blocks are only read, not written.
 * A job changes few blocks, and nearly half of the memory is zeros that were never written, for which the system stores
 * only one page.
 */
export class HeapImage {
  readonly #image: readonly Buffer[];
  readonly #zeros: Buffer = Buffer.alloc(blockBytes);
  /** The blocks of the memory. A memory that has grown has another buffer. */
  #blocks: readonly Buffer[];

  constructor(heap: Uint8Array) {
    this.#blocks = blocksOf(heap);
    this.#image = this.#blocks.map((block) => (this.#zeros.equals(block) ? this.#zeros : Buffer.from(block)));
  }

  /** Restores a memory to the image. Memory that was added since becomes zero. */
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
 * Like `set` of a memory's bytes, but writes only bytes that differ. Zero pages that stay zero need no physical memory.
 */
export function writeDifferences(this: Int8Array, source: ArrayLike<number>, offset = 0): void {
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
