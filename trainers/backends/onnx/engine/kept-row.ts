import { blockTokens, type KeptBlock, type KeptPrefixes } from "./kept-prefixes.ts";

/** Keys and values of tokens, (tokens, layers x keyValueHeads x headSize). The first token begins at `start`. */
interface Tokens {
  readonly keys: Float32Array;
  readonly values: Float32Array;
  readonly start: number;
}

/** Keeps the tokens of one sequence while it is read and decoded, block by block. */
export class KeptRow {
  readonly #kept: KeptPrefixes;
  #last: KeptBlock | undefined;
  /** The tokens after the last kept block. */
  #ids: number[] = [];
  #keys: Float32Array;
  #values: Float32Array;
  /** False if memory was short and the sequence's beginning was dropped. */
  #isKept = true;

  /** `last` is the last block of the sequence that is kept already. */
  constructor(kept: KeptPrefixes, last: KeptBlock | undefined) {
    this.#kept = kept;
    this.#last = last;
    this.#keys = new Float32Array(blockTokens * kept.size);
    this.#values = new Float32Array(blockTokens * kept.size);
  }

  /** Returns a second row with the same tokens so far. */
  copy(): KeptRow {
    const copy = new KeptRow(this.#kept, this.#last);
    copy.#ids = [...this.#ids];
    copy.#keys.set(this.#keys);
    copy.#values.set(this.#values);
    copy.#isKept = this.#isKept;
    return copy;
  }

  /** Adds the next tokens of the sequence. Their keys and values are copied. */
  add(ids: readonly number[], { keys, values, start }: Tokens): void {
    const { size } = this.#kept;
    for (let done = 0; done < ids.length && this.#isKept; ) {
      const before = this.#ids.length;
      const count = Math.min(blockTokens - before, ids.length - done);
      const from = start + done * size;
      this.#keys.set(keys.subarray(from, from + count * size), before * size);
      this.#values.set(values.subarray(from, from + count * size), before * size);
      this.#ids.push(...ids.slice(done, done + count));
      if (this.#ids.length === blockTokens) this.#keep();
      done += count;
    }
  }

  #keep(): void {
    const block = this.#kept.add(this.#last, this.#ids, { keys: this.#keys, values: this.#values });
    this.#isKept = block !== undefined;
    this.#last = block;
    this.#ids = [];
    if (block !== undefined && block.keys !== this.#keys) return;
    const length = block === undefined ? 0 : this.#keys.length;
    this.#keys = new Float32Array(length);
    this.#values = new Float32Array(length);
  }
}
