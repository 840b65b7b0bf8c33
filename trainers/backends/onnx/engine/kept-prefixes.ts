/** The number of tokens of a {@link KeptBlock}. A prompt reads the tokens after its last kept block again. */
export const blockTokens = 16;

/** The keys and values of {@link blockTokens} tokens, which continue the tokens of `parent`. */
export interface KeptBlock {
  /** Undefined if the block begins a sequence. */
  readonly parent: KeptBlock | undefined;
  /** The token ids, joined. */
  readonly key: string;
  /** (tokens, layers x keyValueHeads x headSize), as `values`. */
  readonly keys: Float32Array;
  readonly values: Float32Array;
  /** The blocks that continue this one, by their keys. */
  readonly next: Map<string, KeptBlock>;
}

/**
 * Keeps the keys and values of sequences that a model has read, for prompts that begin in the same way. Sequences share
 * their common beginnings, as in a radix tree (Zheng et al. 2024, https://arxiv.org/abs/2312.07104), in blocks of equal
 * size. If memory is short, the least recently used blocks go first. What is kept depends only on the order of the calls.
 * Entries are of one version of one model's weights.
 */
export class KeptPrefixes {
  /** The number of values per token, in keys and in values: layers x keyValueHeads x headSize. */
  readonly size: number;
  readonly #mostBytes: number;
  readonly #onUse: () => void;
  readonly #first = new Map<string, KeptBlock>();
  /**
   * The least recently used block first. To use a block is to use all blocks before it in its sequence, and these count
   * as used later. So no kept block continues the first one.
   */
  readonly #blocks = new Set<KeptBlock>();

  /** `onUse` is called after blocks were looked up or added. */
  constructor(options: { readonly size: number; readonly mostBytes: number; readonly onUse?: () => void }) {
    this.size = options.size;
    this.#mostBytes = options.mostBytes;
    this.#onUse = options.onUse ?? (() => undefined);
  }

  /** The memory of the blocks. */
  get bytes(): number {
    return this.#bytesOf(blockTokens) * this.#blocks.size;
  }

  /** True if a sequence of this length can be kept. */
  canKeep(tokens: number): boolean {
    return this.#bytesOf(tokens) <= this.#mostBytes;
  }

  /** Returns the blocks of the longest kept beginning of a prompt, in order. Its last token is never in one of them. */
  find(ids: readonly number[]): readonly KeptBlock[] {
    const found: KeptBlock[] = [];
    for (let start = 0; start + blockTokens < ids.length; start += blockTokens) {
      const block = this.#after(found.at(-1)).get(keyOf(ids.slice(start, start + blockTokens)));
      if (block === undefined) break;
      found.push(block);
    }
    this.#use(found.at(-1));
    this.#onUse();
    return found;
  }

  /**
   * Keeps a block, whose arrays must not change afterwards. Returns the kept one, which may be an equal one from before.
   * Returns undefined if there is no memory for it or if `parent` is no longer kept.
   */
  add(
    parent: KeptBlock | undefined,
    ids: readonly number[],
    { keys, values }: Pick<KeptBlock, "keys" | "values">,
  ): KeptBlock | undefined {
    if (parent !== undefined && !this.#blocks.has(parent)) return undefined;
    const key = keyOf(ids);
    const known = this.#after(parent).get(key);
    this.#use(known ?? parent);
    if (known !== undefined) return known;
    const block = { parent, key, keys, values, next: new Map<string, KeptBlock>() };
    while (this.bytes + this.#bytesOf(blockTokens) > this.#mostBytes) {
      const [oldest] = this.#blocks;
      if (oldest === undefined || oldest === parent) return undefined;
      this.evict();
    }
    this.#after(parent).set(key, block);
    this.#use(block);
    this.#onUse();
    return block;
  }

  /** Drops the least recently used block, if there is one. */
  evict(): void {
    const [oldest] = this.#blocks;
    if (oldest === undefined) return;
    this.#blocks.delete(oldest);
    this.#after(oldest.parent).delete(oldest.key);
  }

  /** Drops everything. */
  clear(): void {
    this.#first.clear();
    this.#blocks.clear();
  }

  #bytesOf(tokens: number): number {
    return tokens * 2 * this.size * Float32Array.BYTES_PER_ELEMENT;
  }

  #after(block: KeptBlock | undefined): Map<string, KeptBlock> {
    return block === undefined ? this.#first : block.next;
  }

  #use(last: KeptBlock | undefined): void {
    for (let block = last; block !== undefined; block = block.parent) {
      this.#blocks.delete(block);
      this.#blocks.add(block);
    }
  }
}

function keyOf(ids: readonly number[]): string {
  return ids.join();
}
