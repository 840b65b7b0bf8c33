/**
 * The token ids of a conversation so far. A prefix never changes: `append` returns a longer one that shares the ids of
 * this one. So a turn costs only its own tokens, and two continuations of one prefix do not copy it.
 */
export class TokenPrefix {
  /** The prefix without tokens. */
  static readonly empty: TokenPrefix = new TokenPrefix(undefined, []);
  /** The number of token ids. */
  readonly length: number;
  /** The ids that were appended first: the prompt that begins the sequence. */
  readonly first: readonly number[];
  readonly #before: TokenPrefix | undefined;
  readonly #last: readonly number[];

  private constructor(before: TokenPrefix | undefined, last: readonly number[]) {
    this.length = (before?.length ?? 0) + last.length;
    this.first = before === undefined || before.length === 0 ? last : before.first;
    this.#before = before;
    this.#last = last;
  }

  /** The last id. Undefined if there are none. */
  get lastId(): number | undefined {
    return this.#last.at(-1) ?? this.#before?.lastId;
  }

  /** Returns the prefix that continues this one with `ids`. It keeps the array, which must not change afterwards. */
  append(ids: readonly number[]): TokenPrefix {
    return new TokenPrefix(this, ids);
  }

  /** Returns a new array of all ids. Takes time in proportion to their number. */
  toArray(): number[] {
    const all = new Array<number>(this.length);
    for (let prefix: TokenPrefix | undefined = this; prefix !== undefined; prefix = prefix.#before) {
      const last = prefix.#last;
      const start = prefix.length - last.length;
      for (let i = 0; i < last.length; i++) all[start + i] = last[i]!;
    }
    return all;
  }
}
