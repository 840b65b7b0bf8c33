import type { Completion } from "../../../../src/core/policy/completion.ts";
import type { DecoderConfig } from "../../../model-folders/architecture/decoder-config.ts";
import { chooseWidth, rowCost } from "./decode-grid.ts";
import { blockTokens, type KeptBlock } from "./kept-prefixes.ts";
import { KeyValueCache } from "./key-value-cache.ts";
import type { Feed } from "./session.ts";

/** A prompt that is read next: the number of its tokens, and the blocks of its beginning that are kept already. */
export interface PlacedPrompt {
  readonly length: number;
  readonly kept: readonly KeptBlock[];
}

/**
 * A prompt after prefill. Keys and values are (tokens, layers x keyValueHeads x headSize). The `count` tokens of this
 * prompt that were read begin at row `first`.
 */
export interface ReadPrompt {
  /** The index of the prompt in the last call of {@link DecodeBatch.place}. */
  readonly place: number;
  readonly completions: readonly Completion[];
  readonly keys: Float32Array;
  readonly values: Float32Array;
  readonly first: number;
  readonly count: number;
}

/** The outputs of a decoding graph, row by row. */
export interface DecodeResults {
  readonly keys: Float32Array;
  readonly values: Float32Array;
  readonly probabilities: Float32Array;
  /** Present if the model has a value head. */
  readonly stateValues?: Float32Array;
}

/** Up to `width` rows that continue the same prompt, which is cached once for them. */
interface Group {
  /** The same symbol for all groups of the same prompt. */
  readonly prompt: symbol;
  readonly rows: Completion[];
}

/**
 * The number of query rows from which one wide product over a prompt's values is faster than products of single rows.
 */
const wideProduct = 16;

/** The sequences that are decoded together, with their caches. */
export class DecodeBatch {
  readonly #config: DecoderConfig;
  readonly #rowCost: number;
  readonly #prefix: KeyValueCache;
  readonly #tail: KeyValueCache;
  #groups: Group[] = [];
  #width = 1;

  /** `weights` is the number of values in the model's matrices. */
  constructor(config: DecoderConfig, weights: number) {
    this.#config = config;
    this.#rowCost = rowCost(weights, 2 * config.layers * config.keyValueHeads * config.headSize);
    // Rows without a group read a prompt's keys fastest if these are transposed. Keys of the tail are appended one by
    // one, so they are not.
    this.#prefix = new KeyValueCache(config, { transposedKeys: true });
    this.#tail = new KeyValueCache(config, { transposedKeys: false });
  }

  /** The unfinished sequences. */
  get completions(): readonly Completion[] {
    return this.#groups.flatMap(({ rows }) => rows);
  }

  /** The number of unfinished sequences. */
  get size(): number {
    return this.#groups.reduce((sum, { rows }) => sum + rows.length, 0);
  }

  /** The number of rows in a run, including idle rows. */
  get rows(): number {
    return this.#groups.length * this.#width;
  }

  /** True if rows of the same prompt share a group. If false, each row is its own group. */
  get grouped(): boolean {
    return this.#width > 1;
  }

  /** Makes room for prompts that are read next, after the sequences of the batch, and places what is kept of them. */
  place(prompts: readonly PlacedPrompt[]): void {
    const existing = this.#groups.length;
    const capacity = Math.max(this.#prefix.longest(existing), ...prompts.map(({ length }) => length));
    this.#prefix.layOut({
      width: 1,
      capacity: roundUp(capacity, 16),
      from: [...this.#groups.keys(), ...prompts.map(() => undefined)],
    });
    for (const [i, { kept }] of prompts.entries()) {
      for (const { keys, values } of kept) {
        this.#prefix.append(existing + i, { keys, values, start: 0, count: blockTokens });
      }
    }
  }

  /**
   * Returns what is kept of the placed prompts, as inputs of the graph that continues them. `lengths` are the numbers of
   * their other tokens.
   */
  continuedFeeds(lengths: readonly number[]): Record<string, Feed> {
    const existing = this.#groups.length;
    const length = Math.max(...lengths);
    return {
      ...this.#prefix.feeds("prefix", lengths.length, existing),
      spans: integers(this.#prefix.capacity, length),
      ...this.#continuedWindowFeeds(lengths.length, length),
    };
  }

  /** Returns a mask for the kept tokens within the window of each new token. */
  #continuedWindowFeeds(prompts: number, length: number): Record<string, Feed> {
    const { window, heads, keyValueHeads } = this.#config;
    if (window === undefined) return {};
    const group = heads / keyValueHeads;
    const { capacity } = this.#prefix;
    const rows = length * group;
    const mask = new Float32Array(prompts * rows * capacity);
    for (let row = 0; row < prompts * rows; row++) {
      const end = this.#prefix.length(this.#groups.length + Math.floor(row / rows));
      const position = end + Math.floor((row % rows) / group);
      const start = Math.max(0, position - window.size + 1);
      showOnly(mask.subarray(row * capacity, (row + 1) * capacity), { start, end });
    }
    return { prefixWindowMask: { data: mask, shape: [prompts, 1, 1, rows, capacity] } };
  }

  /** Adds completions of the placed prompts, in order, whose first token has been sampled. */
  admit(prompts: readonly ReadPrompt[]): void {
    const { layers, keyValueHeads, headSize } = this.#config;
    const size = layers * keyValueHeads * headSize;
    const existing = this.#groups.length;
    for (const [i, { place, keys, values, first, count }] of prompts.entries()) {
      this.#prefix.append(existing + place, { keys, values, start: first * size, count });
      // Prompts before it have ended with their first token.
      if (place > i) this.#prefix.copyLane(existing + place, existing + i);
    }
    const fresh = prompts.map(({ completions }) => ({ prompt: Symbol("prompt"), rows: [...completions] }));
    this.#arrange([...this.#groups, ...fresh]);
  }

  /** Returns the inputs of the decoding graph, except the weights, for the next token of every row. */
  feeds(): Record<string, Feed> {
    const groups = this.#groups.length;
    this.#reserve();
    const ids = new Int32Array(this.rows);
    const positions = new BigInt64Array(this.rows);
    const inverseTemperature = new Float32Array(this.rows).fill(1);
    for (const { completion, group, lane } of this.#lanes()) {
      ids[lane] = completion.lastId;
      positions[lane] = BigInt(this.#prefix.length(group) + this.#tail.length(lane));
      inverseTemperature[lane] = 1 / (completion.request.settings.temperature || 1);
    }
    return {
      ...this.#prefix.feeds("prefix", groups),
      ...this.#tail.feeds("tail", groups),
      ids: { data: ids, shape: [this.rows] },
      positions: { data: positions, shape: [this.rows, 1] },
      inverseTemperature: { data: inverseTemperature, shape: [this.rows, 1] },
      spans: integers(this.#prefix.capacity, this.#tail.capacity, 1),
      ownSpans: integers(1, this.#tail.capacity, 1),
      ...this.#windowFeeds(),
      ...(this.grouped ? this.#gridFeeds() : {}),
    };
  }

  /** Returns masks for the cached tokens within the window of each row's next token. Idle rows attend to everything. */
  #windowFeeds(): Record<string, Feed> {
    const { window } = this.#config;
    if (window === undefined) return {};
    const groups = this.#groups.length;
    const [prefix, tail] = [this.#prefix.capacity, this.#tail.capacity];
    const masks = { prefix: new Float32Array(this.rows * prefix), tail: new Float32Array(this.rows * tail) };
    for (const { group, lane } of this.#lanes()) {
      const [read, generated] = [this.#prefix.length(group), this.#tail.length(lane)];
      // The first visible position, counted from the beginning of the prompt.
      const start = Math.max(0, read + generated - window.size + 1);
      showOnly(masks.prefix.subarray(lane * prefix, (lane + 1) * prefix), { start, end: read });
      showOnly(masks.tail.subarray(lane * tail, (lane + 1) * tail), {
        start: Math.max(0, start - read),
        end: generated,
      });
    }
    const feed = (data: Float32Array, capacity: number): Feed => ({
      data,
      shape: [groups, 1, this.#width, 1, capacity],
    });
    return { prefixWindowMask: feed(masks.prefix, prefix), tailWindowMask: feed(masks.tail, tail) };
  }

  /** Returns the shapes that split grouped rows. */
  #gridFeeds(): Record<string, Feed> {
    const { heads, keyValueHeads, headSize } = this.#config;
    const groups = this.#groups.length;
    const width = this.#width;
    const queries = heads / keyValueHeads;
    const [products, each] = queries * width < wideProduct ? [queries * width, 1] : [1, queries * width];
    return {
      grid: integers(groups, width, keyValueHeads, -1, headSize),
      prefixRows: integers(groups, keyValueHeads, 1, products, each, -1),
      queryRows: integers(groups, keyValueHeads, width, queries, -1),
    };
  }

  /** The greatest position of a next token. */
  get lastPosition(): number {
    return this.#prefix.longest(this.#groups.length) + this.#tail.longest(this.#groups.length);
  }

  /**
   * Adds the outputs of a run to the caches, and calls `sample` for each row with the probabilities of its next token and
   * the value of its state, and with the place where its keys and values begin. Removes the rows for which `sample`
   * returns false.
   */
  advance(
    results: DecodeResults,
    sample: (completion: Completion, next: Float32Array, row: { value: number | undefined; start: number }) => boolean,
  ): void {
    const { layers, keyValueHeads, headSize, vocabularySize } = this.#config;
    const { keys, values, probabilities, stateValues } = results;
    const unfinished = new Set<Completion>();
    for (const { completion, lane } of this.#lanes()) {
      const next = probabilities.subarray(lane * vocabularySize, (lane + 1) * vocabularySize);
      const start = lane * layers * keyValueHeads * headSize;
      if (!sample(completion, next, { value: stateValues?.[lane], start })) continue;
      // After sampling, which fails for values that are not finite. Such keys would spoil the lane's next row, despite
      // its mask.
      this.#tail.append(lane, { keys, values, start, count: 1 });
      unfinished.add(completion);
    }
    if (unfinished.size < this.size) this.#drop(unfinished);
  }

  /** Removes the rows of other completions. */
  keep(isKept: (completion: Completion) => boolean): void {
    const kept = this.completions.filter(isKept);
    if (kept.length < this.size) this.#drop(new Set(kept));
  }

  *#lanes(): Generator<{ completion: Completion; group: number; lane: number }> {
    for (const [group, { rows }] of this.#groups.entries()) {
      for (const [row, completion] of rows.entries()) {
        yield { completion, group, lane: group * this.#width + row };
      }
    }
  }

  /**
   * Removes finished and dropped rows. The last row of a group moves to the free place, and the last group to the place
   * of an empty group.
   */
  #drop(unfinished: ReadonlySet<Completion>): void {
    const width = this.#width;
    for (const [group, { rows }] of this.#groups.entries()) {
      for (let row = rows.length - 1; row >= 0; row--) {
        if (unfinished.has(rows[row]!)) continue;
        const last = rows.pop()!;
        if (row < rows.length) {
          rows[row] = last;
          this.#tail.copyLane(group * width + rows.length, group * width + row);
        }
        this.#tail.clear(group * width + rows.length);
      }
    }
    for (let group = this.#groups.length - 1; group >= 0; group--) {
      if (this.#groups[group]!.rows.length > 0) continue;
      const last = this.#groups.pop()!;
      const from = this.#groups.length;
      if (group === from) continue;
      this.#groups[group] = last;
      this.#prefix.copyLane(from, group);
      for (let row = 0; row < width; row++) {
        this.#tail.copyLane(from * width + row, group * width + row);
      }
    }
    if (this.#groups.length > 0) this.#arrange(this.#groups);
  }

  /**
   * Arranges the rows in groups of the best width. `groups` begins with the existing groups. New groups have no tail
   * yet.
   */
  #arrange(groups: readonly Group[]): void {
    const byPrompt = Map.groupBy(groups.entries(), ([, { prompt }]) => prompt);
    const prompts = [...byPrompt.values()].map((parts) => ({
      prefixLane: parts[0]![0],
      prompt: parts[0]![1].prompt,
      rows: parts.flatMap(([, { rows }]) => rows),
    }));
    const width = chooseWidth({
      rows: prompts.map(({ rows }) => rows.length),
      length: this.#prefix.longest(groups.length),
      rowCost: this.#rowCost,
      width: this.#width,
    });
    if (groups === this.#groups && width === this.#width) return;
    const tailLane = new Map([...this.#lanes()].map(({ completion, lane }) => [completion, lane]));
    const placed = prompts.flatMap(({ prefixLane, prompt, rows }) =>
      Array.from({ length: Math.ceil(rows.length / width) }, (_, i) => ({
        prefixLane,
        group: { prompt, rows: rows.slice(i * width, (i + 1) * width) },
      })),
    );
    this.#prefix.layOut({
      width: 1,
      capacity: roundUp(this.#prefix.longest(groups.length), 16),
      from: placed.map(({ prefixLane }) => prefixLane),
    });
    this.#tail.layOut({
      width: width,
      capacity: tailCapacity(this.#tail.longest(this.#groups.length) + 1),
      from: placed.flatMap(({ group }) => Array.from({ length: width }, (_, i) => tailLane.get(group.rows[i]!))),
    });
    this.#groups = placed.map(({ group }) => group);
    this.#width = width;
  }

  /** Reserves memory for one more token. Frees memory if much less is needed. */
  #reserve(): void {
    const wanted = tailCapacity(this.#tail.longest(this.#groups.length) + 1);
    if (wanted === this.#tail.capacity || (wanted < this.#tail.capacity && wanted > this.#tail.capacity / 2)) return;
    this.#tail.layOut({ width: this.#width, capacity: wanted, from: Array.from({ length: this.rows }, (_, i) => i) });
  }
}

/** Masks everything outside [start, end). The mask value is finite, because softmax over only -Infinity is NaN. */
function showOnly(mask: Float32Array, { start, end }: { readonly start: number; readonly end: number }): void {
  mask.fill(-1e30);
  if (start < end) mask.fill(0, start, end);
}

/**
 * Rounds up in steps of 16 up to 128 tokens, then in steps of an eighth. So the cache rarely grows, and few unused
 * places are read.
 */
function tailCapacity(tokens: number): number {
  return roundUp(tokens, tokens <= 128 ? 16 : 2 ** Math.floor(Math.log2(tokens) - 3));
}

function roundUp(value: number, step: number): number {
  return Math.ceil(value / step) * step;
}

function integers(...values: readonly number[]): Feed {
  return { data: BigInt64Array.from(values, BigInt), shape: [values.length] };
}
