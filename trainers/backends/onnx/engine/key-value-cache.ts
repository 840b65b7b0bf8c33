import type { DecoderConfig } from "../models/decoder-config.ts";
import type { Feed } from "./session.ts";

/**
 * Keys and values of a batch of sequences: per layer (slots, keyValueHeads, capacity, headSize), written in place,
 * read by the runtime without a copy. Capacity grows in buckets, so that attention reads little more than is filled.
 */
export class KeyValueCache {
  readonly #config: DecoderConfig;
  readonly #slots: number;
  /** Tokens held by each slot. */
  readonly lengths: Int32Array;
  #capacity = 0;
  #keys: Float32Array[] = [];
  #values: Float32Array[] = [];

  constructor(config: DecoderConfig, slots: number) {
    this.#config = config;
    this.#slots = slots;
    this.lengths = new Int32Array(slots);
  }

  get capacity(): number {
    return this.#capacity;
  }

  /** Makes room for `tokens` tokens in every slot; gives room back where far fewer are needed. */
  reserve(tokens: number): void {
    const wanted = bucket(tokens);
    if (wanted === this.#capacity || (wanted < this.#capacity && wanted > this.#capacity / 2)) return;
    this.#keys = this.#relayOut(this.#keys, wanted);
    this.#values = this.#relayOut(this.#values, wanted);
    this.#capacity = wanted;
  }

  /**
   * Appends rows to a slot. `keys` and `values` are (rows, layers x keyValueHeads x headSize) over all rows of a run;
   * `first` and `count` say which rows are the slot's.
   */
  append(options: {
    readonly slot: number;
    readonly keys: Float32Array;
    readonly values: Float32Array;
    readonly first: number;
    readonly count: number;
  }): void {
    const { slot, keys, values, first, count } = options;
    const start = this.lengths[slot]!;
    for (let row = 0; row < count; row++) {
      this.#write(this.#keys, keys, { slot, row: first + row, place: start + row });
      this.#write(this.#values, values, { slot, row: first + row, place: start + row });
    }
    this.lengths[slot] = start + count;
  }

  #write(
    targets: readonly Float32Array[],
    source: Float32Array,
    { slot, row, place }: { readonly slot: number; readonly row: number; readonly place: number },
  ): void {
    const { layers, keyValueHeads, headSize } = this.#config;
    let from = row * layers * keyValueHeads * headSize;
    for (let layer = 0; layer < layers; layer++) {
      const target = targets[layer]!;
      for (let head = 0; head < keyValueHeads; head++) {
        const to = ((slot * keyValueHeads + head) * this.#capacity + place) * headSize;
        for (let i = 0; i < headSize; i++) target[to + i] = source[from + i]!;
        from += headSize;
      }
    }
  }

  /** Makes `to` hold what `from` holds. */
  copySlot(from: number, to: number): void {
    const { keyValueHeads, headSize } = this.#config;
    const size = keyValueHeads * this.#capacity * headSize;
    for (const arrays of [this.#keys, this.#values]) {
      for (const array of arrays) array.copyWithin(to * size, from * size, (from + 1) * size);
    }
    this.lengths[to] = this.lengths[from]!;
  }

  /** Empties a slot. */
  clear(slot: number): void {
    this.lengths[slot] = 0;
  }

  /** The feeds `keys.<layer>`, `values.<layer>` of the first `rows` slots, and their `mask`. */
  feeds(rows: number): Record<string, Feed> {
    const { keyValueHeads, headSize } = this.#config;
    const size = rows * keyValueHeads * this.#capacity * headSize;
    const shape = [rows, keyValueHeads, 1, this.#capacity, headSize];
    const feeds: Record<string, Feed> = { mask: this.#mask(rows) };
    this.#keys.forEach((data, layer) => {
      feeds[`keys.${layer}`] = { data: data.subarray(0, size), shape };
    });
    this.#values.forEach((data, layer) => {
      feeds[`values.${layer}`] = { data: data.subarray(0, size), shape };
    });
    return feeds;
  }

  #mask(rows: number): Feed {
    const data = new Float32Array(rows * this.#capacity).fill(Number.NEGATIVE_INFINITY);
    for (let row = 0; row < rows; row++) {
      data.fill(0, row * this.#capacity, row * this.#capacity + this.lengths[row]!);
    }
    return { data, shape: [rows, 1, 1, 1, this.#capacity] };
  }

  #relayOut(arrays: readonly Float32Array[], capacity: number): Float32Array[] {
    const { layers, keyValueHeads, headSize } = this.#config;
    return Array.from({ length: layers }, (_, layer) => {
      const target = new Float32Array(this.#slots * keyValueHeads * capacity * headSize);
      const source = arrays[layer];
      if (source === undefined) return target;
      for (let slot = 0; slot < this.#slots; slot++) {
        const size = this.lengths[slot]! * headSize;
        for (let head = 0; head < keyValueHeads; head++) {
          const lane = slot * keyValueHeads + head;
          const from = lane * this.#capacity * headSize;
          target.set(source.subarray(from, from + size), lane * capacity * headSize);
        }
      }
      return target;
    });
  }
}

/** Steps of 32 up to 256, then of an eighth, so that growing is rare and little is read in vain. */
function bucket(tokens: number): number {
  const step = tokens <= 256 ? 32 : 2 ** Math.floor(Math.log2(tokens) - 3);
  return Math.max(32, Math.ceil(tokens / step) * step);
}
