import fc from "fast-check";
import { expect, it } from "vitest";
import { KeyValueCache } from "../../../trainers/backends/onnx/engine/key-value-cache.ts";
import { readDecoderConfig } from "../../../trainers/model-folders/architecture/decoder-config.ts";
import { decoderConfigs } from "./decoder-configs.ts";

const config = readDecoderConfig(decoderConfigs["llama, tied, grouped queries"]!);
const { layers, keyValueHeads, headSize } = config;
const size = layers * keyValueHeads * headSize;

/** Values that identify a lane's tokens: keys are `token`, values its negative, each plus a fraction by index. */
function numbersOf(tokens: readonly number[], sign: 1 | -1): Float32Array {
  return Float32Array.from({ length: tokens.length * size }, (_, i) => {
    return sign * (tokens[Math.floor(i / size)]! + (i % size) / size);
  });
}

/** Compares the cache's feeds with the tokens of each lane. */
function expectTokens(
  cache: KeyValueCache,
  options: {
    readonly lanes: readonly (readonly number[])[];
    readonly width: number;
    readonly transposedKeys: boolean;
  },
): void {
  const { lanes, width, transposedKeys } = options;
  const { capacity } = cache;
  const feeds = cache.feeds("c", lanes.length / width);
  expect(feeds.cMask!.shape).toEqual([lanes.length / width, 1, width, 1, capacity]);
  for (const [lane, tokens] of lanes.entries()) {
    expect(cache.length(lane)).toBe(tokens.length);
    const mask = [...feeds.cMask!.data.subarray(lane * capacity, (lane + 1) * capacity)];
    expect(mask).toEqual(Array.from({ length: capacity }, (_, i) => (i < tokens.length ? 0 : -Infinity)));
    const [keys, values] = [numbersOf(tokens, 1), numbersOf(tokens, -1)];
    for (let layer = 0; layer < layers; layer++) {
      for (let head = 0; head < keyValueHeads; head++) {
        const block = (Math.floor(lane / width) * keyValueHeads + head) * width + (lane % width);
        for (let i = 0; i < headSize; i++) {
          for (let token = 0; token < tokens.length; token++) {
            const from = token * size + (layer * keyValueHeads + head) * headSize + i;
            const byToken = (block * capacity + token) * headSize + i;
            const byRow = (block * headSize + i) * capacity + token;
            expect(feeds[`cKeys.${layer}`]!.data[transposedKeys ? byRow : byToken]).toBe(keys[from]);
            expect(feeds[`cValues.${layer}`]!.data[byToken]).toBe(values[from]);
          }
        }
      }
    }
  }
}

it.each([true, false])("a cache keeps its tokens wherever they are moved (keys transposed: %s)", (transposedKeys) => {
  const step = fc.oneof(
    fc.record({ type: fc.constant("append" as const), lane: fc.nat(), count: fc.integer({ min: 1, max: 40 }) }),
    fc.record({ type: fc.constant("copy" as const), lane: fc.nat(), to: fc.nat() }),
    fc.record({ type: fc.constant("clear" as const), lane: fc.nat() }),
    fc.record({
      type: fc.constant("layOut" as const),
      width: fc.integer({ min: 1, max: 3 }),
      from: fc.array(fc.option(fc.nat()), { minLength: 1, maxLength: 3 }),
      spare: fc.integer({ min: 1, max: 20 }),
    }),
    fc.record({
      type: fc.constant("keep" as const),
      emptied: fc.array(fc.nat(3), { maxLength: 2 }),
      added: fc.integer({ min: -1, max: 1 }),
      isReversed: fc.boolean(),
      spare: fc.integer({ min: 1, max: 20 }),
    }),
  );
  const run = fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
    const cache = new KeyValueCache(config, { transposedKeys });
    let [width, token] = [2, 0];
    let lanes: number[][] = [[], []];
    cache.layOut({ width, capacity: 30, from: [undefined, undefined] });
    for (const action of steps) {
      if (action.type === "layOut") {
        const from = Array.from({ length: action.from.length * action.width }, (_, lane) => {
          const source = action.from[lane % action.from.length];
          return source === null || source === undefined ? undefined : (source + lane) % lanes.length;
        });
        width = action.width;
        lanes = from.map((source) => (source === undefined ? [] : [...lanes[source]!]));
        cache.layOut({ width, from, capacity: Math.max(...lanes.map((held) => held.length)) + action.spare });
        continue;
      }
      if (action.type === "keep") {
        // Every lane keeps its place, or none does.
        const groups = Math.max(1, lanes.length / width + action.added);
        const from = Array.from({ length: groups * width }, (_, lane) =>
          lane < lanes.length && !action.emptied.includes(lane) ? lane : undefined,
        );
        if (action.isReversed) from.reverse();
        lanes = from.map((source) => (source === undefined ? [] : lanes[source]!));
        const longest = Math.max(...lanes.map((held) => held.length));
        const capacity = Math.max(longest + 1, cache.capacity + 5 - action.spare);
        cache.layOut({ width, from, capacity });
        expect(cache.capacity).toBeGreaterThanOrEqual(capacity);
        continue;
      }
      const lane = action.lane % lanes.length;
      if (action.type === "clear") {
        cache.clear(lane);
        lanes[lane] = [];
      } else if (action.type === "copy") {
        cache.copyLane(lane, action.to % lanes.length);
        lanes[action.to % lanes.length] = [...lanes[lane]!];
      } else {
        const count = Math.min(action.count, cache.capacity - lanes[lane]!.length);
        const before = 3;
        const tokens = Array.from({ length: before + count }, () => token++);
        const [keys, values] = [numbersOf(tokens, 1), numbersOf(tokens, -1)];
        cache.append(lane, { keys, values, start: before * size, count });
        lanes[lane]!.push(...tokens.slice(before));
      }
    }
    expect(cache.longest(lanes.length / width)).toBe(Math.max(...lanes.map((held) => held.length)));
    expectTokens(cache, { lanes, width, transposedKeys });
  });
  fc.assert(run, { numRuns: 250 });
});
