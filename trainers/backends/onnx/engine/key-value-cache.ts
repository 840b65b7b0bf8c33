import type { DecoderConfig } from "../architecture/decoder-config.ts";
import type { Feed } from "./session.ts";

/** How many tokens are written at a time, so that what is read and written of them stays near the processor. */
const tokensAtOnce = 16;

/**
 * Keys and values of sequences in a grid of groups and members, per layer (groups, keyValueHeads, members, capacity,
 * headSize), or for keys (..., headSize, capacity) where they are transposed: written in place, read by the runtime
 * without a copy. A lane is one sequence: group x members + member.
 */
export class KeyValueCache {
  readonly #config: DecoderConfig;
  readonly #transposedKeys: boolean;
  #groups = 0;
  #members = 1;
  #capacity = 0;
  #lengths = new Int32Array(0);
  #keys: Float32Array[] = [];
  #values: Float32Array[] = [];
  /** Feeds of the arrays by what was asked for: the same objects in every run, so that each is handed over once. */
  readonly #known = new Map<string, Record<string, Feed>>();

  constructor(config: DecoderConfig, options: { readonly transposedKeys: boolean }) {
    this.#config = config;
    this.#transposedKeys = options.transposedKeys;
  }

  /** Tokens that a lane has room for. */
  get capacity(): number {
    return this.#capacity;
  }

  /** Tokens held by a lane. */
  length(lane: number): number {
    return this.#lengths[lane]!;
  }

  /** The most tokens held by one of the first `groups` groups. */
  longest(groups: number): number {
    return this.#lengths.subarray(0, groups * this.#members).reduce((most, length) => Math.max(most, length), 0);
  }

  /** Another grid or capacity: `from` gives, by lane, which one's tokens it takes over, undefined where none. */
  layOut(grid: {
    readonly members: number;
    readonly capacity: number;
    readonly from: readonly (number | undefined)[];
  }): void {
    const { members, capacity, from } = grid;
    const { layers, keyValueHeads, headSize } = this.#config;
    const groups = from.length / members;
    const lengths = Int32Array.from(from, (lane) => (lane === undefined ? 0 : this.#lengths[lane]!));
    const moved = (arrays: readonly Float32Array[], transposed: boolean): Float32Array[] =>
      Array.from({ length: layers }, (_, layer) => {
        const target = alignedNumbers(groups * keyValueHeads * members * capacity * headSize);
        for (const [lane, source] of from.entries()) {
          if (source === undefined) continue;
          for (let head = 0; head < keyValueHeads; head++) {
            const start = this.#start(source, head);
            const to = ((Math.floor(lane / members) * keyValueHeads + head) * members + (lane % members)) * capacity;
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
    [this.#groups, this.#members, this.#capacity, this.#lengths] = [groups, members, capacity, lengths];
    this.#known.clear();
  }

  /** Appends `count` tokens to a lane; each is (layers, keyValueHeads, headSize), the first at `start`. */
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
    for (let place = this.#lengths[lane]!; place < end; place += tokensAtOnce, from += tokensAtOnce * size) {
      const count = Math.min(tokensAtOnce, end - place);
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

  /** Makes lane `to` hold what lane `from` holds. */
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

  /** Of the first `groups` groups: `<name>Keys.<layer>`, `<name>Values.<layer>` and `<name>Mask`. */
  feeds(name: string, groups: number): Record<string, Feed> {
    const [members, capacity] = [this.#members, this.#capacity];
    const mask = new Float32Array(groups * members * capacity).fill(Number.NEGATIVE_INFINITY);
    for (let lane = 0; lane < groups * members; lane++) {
      mask.fill(0, lane * capacity, lane * capacity + this.#lengths[lane]!);
    }
    const key = `${name}:${groups}`;
    const arrays = this.#known.get(key) ?? this.#arrayFeeds(name, groups);
    this.#known.set(key, arrays);
    return { ...arrays, [`${name}Mask`]: { data: mask, shape: [groups, 1, members, 1, capacity] } };
  }

  #arrayFeeds(name: string, groups: number): Record<string, Feed> {
    const { keyValueHeads, headSize } = this.#config;
    const [members, capacity] = [this.#members, this.#capacity];
    const size = groups * keyValueHeads * members * capacity * headSize;
    const feeds: Record<string, Feed> = {};
    const shape = [groups, keyValueHeads, members, capacity, headSize];
    const keyShape = this.#transposedKeys ? [groups, keyValueHeads, members, headSize, capacity] : shape;
    for (let layer = 0; layer < this.#config.layers; layer++) {
      feeds[`${name}Keys.${layer}`] = { data: this.#keys[layer]!.subarray(0, size), shape: keyShape };
      feeds[`${name}Values.${layer}`] = { data: this.#values[layer]!.subarray(0, size), shape };
    }
    return feeds;
  }

  /** What lies together of a head that holds `tokens`: all of it, or the tokens of each of its rows. */
  #runs(tokens: number, transposed: boolean): readonly { readonly row: number; readonly length: number }[] {
    const { headSize } = this.#config;
    if (tokens === 0) return [];
    if (!transposed) return [{ row: 0, length: tokens * headSize }];
    return Array.from({ length: headSize }, (_, row) => ({ row, length: tokens }));
  }

  /** Where a head of a lane begins in a layer's array. */
  #start(lane: number, head: number): number {
    const { keyValueHeads, headSize } = this.#config;
    const group = Math.floor(lane / this.#members);
    const member = lane % this.#members;
    return ((group * keyValueHeads + head) * this.#members + member) * this.#capacity * headSize;
  }
}

/**
 * Zeros that begin at a multiple of 64 bytes where large blocks of memory begin 16 bytes beyond a page, as glibc's do:
 * products read them faster where no vector lies across two lines of the processor's cache. Elsewhere they begin
 * somewhere.
 */
function alignedNumbers(length: number): Float32Array {
  return new Float32Array(new ArrayBuffer(48 + 4 * length), 48, length);
}

/** `count` tokens of one head: rows of `headSize` numbers from `source` on, `size` apart. */
interface Block {
  readonly source: number;
  readonly size: number;
  readonly count: number;
  readonly headSize: number;
}

/** Writes a block's rows one after another. */
function copyRows(target: Float32Array, to: number, from: Float32Array, block: Block): void {
  const { source, size, count, headSize } = block;
  for (let token = 0; token < count; token++) {
    const [row, place] = [source + token * size, to + token * headSize];
    for (let i = 0; i < headSize; i++) target[place + i] = from[row + i]!;
  }
}

/** Writes a block's rows as columns of rows that are `stride` apart. */
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
