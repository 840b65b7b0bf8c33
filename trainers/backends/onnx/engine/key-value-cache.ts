import type { DecoderConfig } from "../../../model-folders/architecture/decoder-config.ts";
import type { Feed } from "./session.ts";

/**
 * The number of tokens that are copied at a time, so that the memory read and written stays in the processor's cache.
 */
const tokensPerCopy = 16;

/**
 * The keys and values of sequences, in a grid of groups with `width` rows each. Per layer, values have the shape
 * (groups, keyValueHeads, width, capacity, headSize). Keys have the same shape, or (..., headSize, capacity) if
 * transposed. Tokens are written in place, and the runtime reads them without a copy. A lane is the place of one
 * sequence: group x width + row.
 */
export class KeyValueCache {
  readonly #config: DecoderConfig;
  readonly #transposedKeys: boolean;
  #groups = 0;
  #width = 1;
  #capacity = 0;
  #lengths = new Int32Array(0);
  #keys: Float32Array[] = [];
  #values: Float32Array[] = [];
  /**
   * The array feeds by name and groups. Every run gets the same objects, so each array becomes a tensor only
   * once.
   */
  readonly #known = new Map<string, Record<string, Feed>>();

  constructor(config: DecoderConfig, options: { readonly transposedKeys: boolean }) {
    this.#config = config;
    this.#transposedKeys = options.transposedKeys;
  }

  /** The number of tokens that a lane can store. */
  get capacity(): number {
    return this.#capacity;
  }

  /** Returns the number of tokens in a lane. */
  length(lane: number): number {
    return this.#lengths[lane]!;
  }

  /** Returns the length of the longest lane in the first `groups` groups. */
  longest(groups: number): number {
    return this.#lengths.subarray(0, groups * this.#width).reduce((most, length) => Math.max(most, length), 0);
  }

  /**
   * Changes the grid or the capacity. `from` lists, for each new lane, the old lane whose tokens it takes over, or
   * undefined for an empty lane. If every lane keeps its place and the memory is of about the right size, nothing is
   * copied, and the capacity may be greater than asked for.
   */
  layOut(grid: {
    readonly width: number;
    readonly capacity: number;
    readonly from: readonly (number | undefined)[];
  }): void {
    const { width, capacity, from } = grid;
    const { layers, keyValueHeads, headSize } = this.#config;
    const groups = from.length / width;
    const lengths = Int32Array.from(from, (lane) => (lane === undefined ? 0 : this.#lengths[lane]!));
    const fits = (wanted: number, present: number): boolean => wanted <= present && wanted > 0.75 * present;
    const keepsPlaces = width === this.#width && from.every((lane, place) => lane === undefined || lane === place);
    if (keepsPlaces && fits(groups, this.#groups) && fits(capacity, this.#capacity)) {
      this.#lengths = lengths;
      return;
    }
    const moved = (arrays: readonly Float32Array[], transposed: boolean): Float32Array[] =>
      Array.from({ length: layers }, (_, layer) => {
        const target = alignedNumbers(groups * keyValueHeads * width * capacity * headSize);
        for (const [lane, source] of from.entries()) {
          if (source === undefined) continue;
          for (let head = 0; head < keyValueHeads; head++) {
            const start = this.#start(source, head);
            const to = ((Math.floor(lane / width) * keyValueHeads + head) * width + (lane % width)) * capacity;
            for (const run of this.#runs(lengths[lane]!, transposed)) {
              const first = start + run.row * this.#capacity;
              const values = arrays[layer]!.subarray(first, first + run.length);
              target.set(values, to * headSize + run.row * capacity);
            }
          }
        }
        return target;
      });
    [this.#keys, this.#values] = [moved(this.#keys, this.#transposedKeys), moved(this.#values, false)];
    [this.#groups, this.#width, this.#capacity, this.#lengths] = [groups, width, capacity, lengths];
    this.#known.clear();
  }

  /**
   * Appends `count` tokens to a lane. Each token is (layers, keyValueHeads, headSize), and the first begins at `start`.
   */
  append(
    lane: number,
    tokens: {
      readonly keys: Float32Array;
      readonly values: Float32Array;
      readonly start: number;
      readonly count: number;
    },
  ): void {
    const { layers, keyValueHeads, headSize } = this.#config;
    const size = layers * keyValueHeads * headSize;
    const end = this.#lengths[lane]! + tokens.count;
    let from = tokens.start;
    for (let place = this.#lengths[lane]!; place < end; place += tokensPerCopy, from += tokensPerCopy * size) {
      const count = Math.min(tokensPerCopy, end - place);
      for (let layer = 0; layer < layers; layer++) {
        for (let head = 0; head < keyValueHeads; head++) {
          const source = from + (layer * keyValueHeads + head) * headSize;
          const start = this.#start(lane, head);
          const to = start + place * headSize;
          const block = { source, size, count, headSize };
          copyRows(this.#values[layer]!, to, tokens.values, block);
          if (!this.#transposedKeys) copyRows(this.#keys[layer]!, to, tokens.keys, block);
          else copyColumns(this.#keys[layer]!, start + place, tokens.keys, { ...block, stride: this.#capacity });
        }
      }
    }
    this.#lengths[lane] = end;
  }

  /** Copies lane `from` to lane `to`. */
  copyLane(from: number, to: number): void {
    for (let head = 0; head < this.#config.keyValueHeads; head++) {
      const [start, target] = [this.#start(from, head), this.#start(to, head)];
      const copy = (arrays: readonly Float32Array[], transposed: boolean): void => {
        for (const { row, length } of this.#runs(this.#lengths[from]!, transposed)) {
          const offset = row * this.#capacity;
          for (const array of arrays) array.copyWithin(target + offset, start + offset, start + offset + length);
        }
      };
      copy(this.#keys, this.#transposedKeys);
      copy(this.#values, false);
    }
    this.#lengths[to] = this.#lengths[from]!;
  }

  /** Empties a lane. */
  clear(lane: number): void {
    this.#lengths[lane] = 0;
  }

  /**
   * Returns the feeds of `groups` groups from the group `first` on: `<name>Keys.<layer>`, `<name>Values.<layer>` and
   * `<name>Mask`.
   */
  feeds(name: string, groups: number, first = 0): Record<string, Feed> {
    const [width, capacity] = [this.#width, this.#capacity];
    const mask = new Float32Array(groups * width * capacity).fill(Number.NEGATIVE_INFINITY);
    for (let lane = 0; lane < groups * width; lane++) {
      mask.fill(0, lane * capacity, lane * capacity + this.#lengths[first * width + lane]!);
    }
    const key = `${name}:${first}:${groups}`;
    const arrays = this.#known.get(key) ?? this.#arrayFeeds(name, groups, first);
    this.#known.set(key, arrays);
    return { ...arrays, [`${name}Mask`]: { data: mask, shape: [groups, 1, width, 1, capacity] } };
  }

  #arrayFeeds(name: string, groups: number, first: number): Record<string, Feed> {
    const { keyValueHeads, headSize } = this.#config;
    const [width, capacity] = [this.#width, this.#capacity];
    const group = keyValueHeads * width * capacity * headSize;
    const [start, end] = [first * group, (first + groups) * group];
    const feeds: Record<string, Feed> = {};
    const shape = [groups, keyValueHeads, width, capacity, headSize];
    const keyShape = this.#transposedKeys ? [groups, keyValueHeads, width, headSize, capacity] : shape;
    for (let layer = 0; layer < this.#config.layers; layer++) {
      feeds[`${name}Keys.${layer}`] = { data: this.#keys[layer]!.subarray(start, end), shape: keyShape };
      feeds[`${name}Values.${layer}`] = { data: this.#values[layer]!.subarray(start, end), shape };
    }
    return feeds;
  }

  /** Returns the contiguous ranges of a head with `tokens` tokens: one range, or one per row of transposed keys. */
  #runs(tokens: number, transposed: boolean): readonly { readonly row: number; readonly length: number }[] {
    const { headSize } = this.#config;
    if (tokens === 0) return [];
    if (!transposed) return [{ row: 0, length: tokens * headSize }];
    return Array.from({ length: headSize }, (_, row) => ({ row, length: tokens }));
  }

  /** Returns the offset of a lane's head in a layer's array. */
  #start(lane: number, head: number): number {
    const { keyValueHeads, headSize } = this.#config;
    const group = Math.floor(lane / this.#width);
    const row = lane % this.#width;
    return ((group * keyValueHeads + head) * this.#width + row) * this.#capacity * headSize;
  }
}

/**
 * Allocates zeros that begin at a multiple of 64 bytes if the allocator places large blocks 16 bytes after a page
 * boundary, as glibc does. Products read them faster if no vector crosses a cache line. With other allocators the
 * alignment is arbitrary.
 */
function alignedNumbers(length: number): Float32Array {
  return new Float32Array(new ArrayBuffer(48 + 4 * length), 48, length);
}

/** `count` tokens of one head: rows of `headSize` values from `source`, `size` values apart. */
interface Block {
  readonly source: number;
  readonly size: number;
  readonly count: number;
  readonly headSize: number;
}

/** Copies a block's rows one after another. */
function copyRows(target: Float32Array, to: number, from: Float32Array, block: Block): void {
  const { source, size, count, headSize } = block;
  for (let token = 0; token < count; token++) {
    const [row, place] = [source + token * size, to + token * headSize];
    for (let i = 0; i < headSize; i++) target[place + i] = from[row + i]!;
  }
}

/** Copies a block's rows into columns. The rows of the target are `stride` values apart. */
function copyColumns(
  target: Float32Array,
  to: number,
  from: Float32Array,
  block: Block & { readonly stride: number },
): void {
  const { source, size, count, headSize, stride } = block;
  for (let i = 0; i < headSize; i++) {
    for (let token = 0; token < count; token++) target[to + i * stride + token] = from[source + token * size + i]!;
  }
}
