import type { DecoderConfig } from "../models/decoder-config.ts";
import type { Feed } from "./session.ts";

/**
 * Keys and values of sequences in a grid of groups and members, per layer (groups, keyValueHeads, members, capacity,
 * headSize): written in place, read by the runtime without a copy. A lane is one sequence: group x members + member.
 */
export class KeyValueCache {
  readonly #config: DecoderConfig;
  #groups = 0;
  #members = 1;
  #capacity = 0;
  #lengths = new Int32Array(0);
  #keys: Float32Array[] = [];
  #values: Float32Array[] = [];

  constructor(config: DecoderConfig) {
    this.#config = config;
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
    const moved = (arrays: readonly Float32Array[]): Float32Array[] =>
      Array.from({ length: layers }, (_, layer) => {
        const target = new Float32Array(groups * keyValueHeads * members * capacity * headSize);
        for (const [lane, source] of from.entries()) {
          if (source === undefined || lengths[lane] === 0) continue;
          for (let head = 0; head < keyValueHeads; head++) {
            const start = this.#start(source, head);
            const to = ((Math.floor(lane / members) * keyValueHeads + head) * members + (lane % members)) * capacity;
            target.set(arrays[layer]!.subarray(start, start + lengths[lane]! * headSize), to * headSize);
          }
        }
        return target;
      });
    [this.#keys, this.#values] = [moved(this.#keys), moved(this.#values)];
    [this.#groups, this.#members, this.#capacity, this.#lengths] = [groups, members, capacity, lengths];
  }

  /**
   * Appends one token to a lane: head `head` of layer `layer` is `headSize` numbers at `start + (layer x keyValueHeads
   * + head) x stride`.
   */
  append(
    lane: number,
    token: {
      readonly keys: Float32Array;
      readonly values: Float32Array;
      readonly start: number;
      readonly stride: number;
    },
  ): void {
    const { layers, keyValueHeads, headSize } = this.#config;
    const place = this.#lengths[lane]! * headSize;
    let from = token.start;
    for (let layer = 0; layer < layers; layer++) {
      const [keys, values] = [this.#keys[layer]!, this.#values[layer]!];
      for (let head = 0; head < keyValueHeads; head++, from += token.stride) {
        const to = this.#start(lane, head) + place;
        for (let i = 0; i < headSize; i++) {
          keys[to + i] = token.keys[from + i]!;
          values[to + i] = token.values[from + i]!;
        }
      }
    }
    this.#lengths[lane]!++;
  }

  /** Makes lane `to` hold what lane `from` holds. */
  copyLane(from: number, to: number): void {
    const size = this.#lengths[from]! * this.#config.headSize;
    for (let head = 0; head < this.#config.keyValueHeads; head++) {
      const [start, target] = [this.#start(from, head), this.#start(to, head)];
      for (const arrays of [this.#keys, this.#values]) {
        for (const array of arrays) array.copyWithin(target, start, start + size);
      }
    }
    this.#lengths[to] = this.#lengths[from]!;
  }

  /** Empties a lane. */
  clear(lane: number): void {
    this.#lengths[lane] = 0;
  }

  /** Of the first `groups` groups: `<name>Keys.<layer>`, `<name>Values.<layer>` and `<name>Mask`. */
  feeds(name: string, groups: number): Record<string, Feed> {
    const { keyValueHeads, headSize } = this.#config;
    const [members, capacity] = [this.#members, this.#capacity];
    const size = groups * keyValueHeads * members * capacity * headSize;
    const mask = new Float32Array(groups * members * capacity).fill(Number.NEGATIVE_INFINITY);
    for (let lane = 0; lane < groups * members; lane++) {
      mask.fill(0, lane * capacity, lane * capacity + this.#lengths[lane]!);
    }
    const feeds: Record<string, Feed> = {
      [`${name}Mask`]: { data: mask, shape: [groups, 1, members, 1, capacity] },
    };
    for (let layer = 0; layer < this.#config.layers; layer++) {
      feeds[`${name}Keys.${layer}`] = {
        data: this.#keys[layer]!.subarray(0, size),
        shape: [groups, keyValueHeads, members, capacity, headSize],
      };
      feeds[`${name}Values.${layer}`] = {
        data: this.#values[layer]!.subarray(0, size),
        shape: [groups, keyValueHeads, members, 1, capacity, headSize],
      };
    }
    return feeds;
  }

  /** Where a head of a lane begins in a layer's array. */
  #start(lane: number, head: number): number {
    const { keyValueHeads, headSize } = this.#config;
    const group = Math.floor(lane / this.#members);
    const member = lane % this.#members;
    return ((group * keyValueHeads + head) * this.#members + member) * this.#capacity * headSize;
  }
}
