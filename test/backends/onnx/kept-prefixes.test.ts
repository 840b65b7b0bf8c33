import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Completion } from "../../../src/core/policy/completion.ts";
import { KeptMemory } from "../../../trainers/backends/onnx/engine/kept-memory.ts";
import { blockTokens, KeptPrefixes } from "../../../trainers/backends/onnx/engine/kept-prefixes.ts";
import { KeptRow } from "../../../trainers/backends/onnx/engine/kept-row.ts";
import { keptFirst } from "../../../trainers/backends/onnx/engine/read-order.ts";
import { readDecoderConfig } from "../../../trainers/model-folders/architecture/decoder-config.ts";
import { tinyConfig } from "./tiny-config.ts";

const size = 2;
const blockBytes = blockTokens * 2 * size * 4;

/** A number for each beginning of a sequence, which tells it from all others. */
function numbersOf(ids: readonly number[], sign: 1 | -1): Float32Array {
  let state = 1;
  return Float32Array.from(
    ids.flatMap((id) => {
      state = (state * 31 + id + 1) % 1_000_003;
      return [sign * state, sign * (state + 0.5)];
    }),
  );
}

/** Reads a prompt as the sampler does: finds what is kept, and adds the rest. */
function read(kept: KeptPrefixes, ids: readonly number[], parts: readonly number[] = [ids.length]) {
  const found = kept.find(ids);
  const row = new KeptRow(kept, found.at(-1));
  const [keys, values] = [numbersOf(ids, 1), numbersOf(ids, -1)];
  let start = found.length * blockTokens;
  for (const end of [...parts, ids.length]) {
    if (end <= start) continue;
    row.add(ids.slice(start, end), { keys, values, start: start * size });
    start = end;
  }
  return { found, row };
}

/** Sequences that often begin alike: a block's tokens are all equal, with a few exceptions. */
const sequence = fc
  .record({
    blocks: fc.array(fc.nat(1), { maxLength: 5 }),
    rest: fc.nat(blockTokens - 1),
    change: fc.option(fc.nat(40)),
  })
  .map(({ blocks, rest, change }) => {
    const ids = [...blocks.flatMap((id) => Array<number>(blockTokens).fill(id)), ...Array<number>(rest + 1).fill(2)];
    return change === null || change >= ids.length ? ids : ids.with(change, 3);
  });

describe("the order of prompts", () => {
  const completions = (promptIds: readonly number[]) =>
    [{ request: { promptIds, settings: { temperature: 1 } } }] as unknown as readonly Completion[];

  it("is by kept tokens, and memory is taken from the last ones", () => {
    const kept = new KeptPrefixes({ size, mostBytes: 3 * blockBytes });
    const [much, little, none] = [2, 1, 1].map((blocks, id) => Array<number>(blocks * blockTokens + 1).fill(id));
    read(kept, much!);
    read(kept, little!);
    for (const order of [
      [much, little, none],
      [none, little, much],
    ]) {
      const groups = order.map((ids) => completions(ids!));
      expect(keptFirst(groups, kept).map(([first]) => first!.request.promptIds)).toEqual([much, little, none]);
    }
    kept.evict();
    expect([much, little].map((ids) => kept.find(ids!).length)).toEqual([2, 0]);
  });
});

describe("kept prefixes", () => {
  it("are those of the same tokens, the most recently used ones, within the memory", () => {
    const run = fc.property(
      fc.array(sequence, { maxLength: 30 }),
      fc.nat(12),
      fc.array(fc.nat(90)),
      (all, most, cuts) => {
        const kept = new KeptPrefixes({ size, mostBytes: most * blockBytes });
        const parts = cuts.toSorted((a, b) => a - b);
        // The blocks that are kept, as sequences, least recently used first.
        let expected: string[] = [];
        const use = (ids: readonly number[], blocks: number): void => {
          for (let count = blocks; count > 0; count--) {
            const used = ids.slice(0, count * blockTokens).join();
            expected = [...expected.filter((key) => key !== used), used];
          }
        };
        for (const ids of all) {
          const whole = Math.floor((ids.length - 1) / blockTokens);
          let count = 0;
          while (count < whole && expected.includes(ids.slice(0, (count + 1) * blockTokens).join())) count++;
          const { found } = read(kept, ids, parts);
          expect(found).toHaveLength(count);
          for (const [i, { keys, values }] of found.entries()) {
            const [from, to] = [i * blockTokens * size, (i + 1) * blockTokens * size];
            expect(keys).toEqual(numbersOf(ids, 1).slice(from, to));
            expect(values).toEqual(numbersOf(ids, -1).slice(from, to));
          }
          use(ids, count);
          for (let next = count + 1; next * blockTokens <= ids.length; next++) {
            const parent = ids.slice(0, (next - 1) * blockTokens).join();
            const key = ids.slice(0, next * blockTokens).join();
            if (!expected.includes(key)) {
              use(ids, next - 1);
              if (most === 0 || (expected.length === most && expected[0] === parent)) break;
              if (expected.length === most) expected = expected.slice(1);
            }
            use(ids, next);
          }
          expect(kept.bytes).toBe(expected.length * blockBytes);
          expect(kept.bytes).toBeLessThanOrEqual(most * blockBytes);
        }
      },
    );
    fc.assert(run, { numRuns: 300 });
  });

  it("are copied before a row goes on, so that two rows of one prompt differ", () => {
    const kept = new KeptPrefixes({ size, mostBytes: 100 * blockBytes });
    const prompt = Array<number>(blockTokens + 5).fill(1);
    const { row } = read(kept, prompt);
    const other = row.copy();
    for (const [each, id] of [[row, 7] as const, [other, 8] as const]) {
      const ids = [...prompt, ...Array<number>(blockTokens).fill(id)];
      const [keys, values] = [numbersOf(ids, 1), numbersOf(ids, -1)];
      each.add(ids.slice(prompt.length), { keys, values, start: prompt.length * size });
    }
    for (const id of [7, 8]) {
      const ids = [...prompt, ...Array<number>(blockTokens).fill(id)];
      const found = kept.find(ids);
      expect(found).toHaveLength(2);
      expect(found[1]!.keys).toEqual(numbersOf(ids, 1).slice(blockTokens * size, 2 * blockTokens * size));
    }
  });

  it("are looked up in time that does not grow with their number", () => {
    const seconds = (count: number): number => {
      const kept = new KeptPrefixes({ size: 1, mostBytes: Infinity });
      const numbers = new Float32Array(2 * blockTokens);
      for (let i = 0; i < count; i++) {
        const ids = [i, ...Array<number>(2 * blockTokens - 1).fill(1)];
        new KeptRow(kept, undefined).add(ids, { keys: numbers, values: numbers, start: 0 });
      }
      const start = performance.now();
      for (let i = 0; i < 2000; i++) kept.find([i % count, ...Array<number>(2 * blockTokens).fill(1)]);
      return performance.now() - start;
    };
    seconds(100);
    const few = Math.min(...[1, 2, 3].map(() => seconds(100)));
    const many = Math.min(...[1, 2, 3].map(() => seconds(20_000)));
    // A lookup that goes through all of them would take 200 times as long.
    expect(many).toBeLessThan(50 * few + 50);
  });
});

describe("the memory of kept prefixes", () => {
  const config = readDecoderConfig(tinyConfig);
  const { layers, keyValueHeads, headSize } = config;
  const values = layers * keyValueHeads * headSize;
  const bytes = blockTokens * 2 * values * 4;
  const fill = (kept: KeptPrefixes, name: number, blocks: number): void => {
    const ids = Array<number>(blocks * blockTokens).fill(name);
    const numbers = new Float32Array(ids.length * values);
    new KeptRow(kept, undefined).add(ids, { keys: numbers, values: numbers, start: 0 });
  };

  it("is twice that of one sampler for all of them, and the least recently used sampler loses first", () => {
    const memory = new KeptMemory(10 * bytes);
    const stores = [1, 2, 3].map(() => memory.open(config));
    for (const [i, kept] of stores.entries()) fill(kept, i, 8);
    expect(stores.map((kept) => kept.bytes / bytes)).toEqual([4, 8, 8]);
    fill(stores[0]!, 9, 4);
    expect(stores.map((kept) => kept.bytes / bytes)).toEqual([8, 4, 8]);
    fill(stores[0]!, 10, 20);
    expect(stores[0]!.bytes / bytes).toBe(10);
    memory.close(stores[2]!);
    expect(stores.map((kept) => kept.bytes / bytes)).toEqual([10, 2, 0]);
  });
});
