import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createRandom, deriveSeed } from "../../../src/core/random/random.ts";

const finite = fc.double({ noNaN: true, noDefaultInfinity: true });
const stream = (seed: number, length = 8): number[] => {
  const random = createRandom(seed);
  return Array.from({ length }, random.next);
};

/** Pearson's statistic for counts that should be equal. Its mean is the number of cells minus 1. */
function chiSquared(counts: readonly number[]): number {
  const expected = counts.reduce((sum, count) => sum + count, 0) / counts.length;
  return counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
}

/** Five standard deviations above and below the mean of chi-squared. Seeds are fixed, so the result never changes. */
function expectUniform(counts: readonly number[]): void {
  const freedom = counts.length - 1;
  expect(Math.abs(chiSquared(counts) - freedom)).toBeLessThan(5 * Math.sqrt(2 * freedom));
}

function correlation(a: readonly number[], b: readonly number[]): number {
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [meanA, meanB] = [mean(a), mean(b)];
  const product = mean(a.map((value, i) => (value - meanA) * (b[i]! - meanB)));
  return (
    product / Math.sqrt(mean(a.map((value) => (value - meanA) ** 2)) * mean(b.map((value) => (value - meanB) ** 2)))
  );
}

describe("streams", () => {
  test("these numbers never change, so runs of old versions can be repeated", () => {
    expect(stream(0, 3)).toMatchInlineSnapshot(`
      [
        0.06280315409392478,
        0.031037550450782936,
        0.1783868167233571,
      ]
    `);
    expect(stream(42, 3)).toMatchInlineSnapshot(`
      [
        0.9797809587940249,
        0.2460367218403755,
        0.20368042104769069,
      ]
    `);
    expect(stream(2 ** 53 - 1, 3)).toMatchInlineSnapshot(`
      [
        0.6346076313685884,
        0.5263624332263136,
        0.6259704865688523,
      ]
    `);
  });

  test("equal seeds give equal streams, different seeds different ones", () => {
    fc.assert(
      fc.property(finite, finite, (first, second) => {
        expect(stream(first)).toEqual(stream(first));
        if (first !== second) expect(stream(first)).not.toEqual(stream(second));
      }),
    );
    expect(stream(0)).toEqual(stream(-0));
  });

  test("seeds that share 32 of their bits still differ", () => {
    const seeds = [
      1,
      1 + 2 ** 32,
      1 + 2 ** 33,
      1 + 2 ** 52,
      -1,
      2 ** 32 - 1,
      2 ** 31,
      -(2 ** 31),
      0.5,
      1.5,
      1e300,
      5e-324,
    ];
    expect(new Set(seeds.map((seed) => stream(seed, 1)[0])).size).toBe(seeds.length);
  });

  test("a hundred thousand derived seeds give as many first numbers", () => {
    const firsts = new Set(Array.from({ length: 100_000 }, (_, i) => createRandom(deriveSeed(7, i)).next()));
    expect(firsts.size).toBe(100_000);
  });

  test.each([0, 1, 2 ** 40, 0.1])("numbers of seed %d are uniform, bit by bit and in pairs", (seed) => {
    const random = createRandom(seed);
    const values = Array.from({ length: 100_000 }, random.next);
    const cells = new Array<number>(1000).fill(0);
    const pairs = new Array<number>(32 * 32).fill(0);
    const bits = new Array<number>(53).fill(0);
    values.forEach((value, i) => {
      cells[Math.floor(value * 1000)]!++;
      if (i > 0) pairs[Math.floor(values[i - 1]! * 32) * 32 + Math.floor(value * 32)]!++;
      let rest = BigInt(value * 2 ** 53);
      for (let bit = 0; bit < 53; bit++, rest >>= 1n) if ((rest & 1n) === 1n) bits[bit]!++;
    });
    expectUniform(cells);
    expectUniform(pairs);
    for (const ones of bits) expect(Math.abs(ones - 50_000)).toBeLessThan(5 * Math.sqrt(25_000));
    expect(Math.min(...values)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...values)).toBeLessThan(1);
  });

  test("first numbers of neighbouring seeds are uniform and not correlated", () => {
    for (const step of [1, 2 ** 32, 0.25]) {
      for (const draw of [0, 1, 2]) {
        const values = Array.from({ length: 20_000 }, (_, i) => stream(i * step, draw + 1)[draw]!);
        const cells = new Array<number>(100).fill(0);
        for (const value of values) cells[Math.floor(value * 100)]!++;
        expectUniform(cells);
        expect(Math.abs(correlation(values.slice(1), values.slice(0, -1)))).toBeLessThan(5 / Math.sqrt(20_000));
      }
    }
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])("the seed %s is refused", (seed) => {
    expect(() => createRandom(seed)).toThrow(RangeError);
    expect(() => deriveSeed(seed)).toThrow(RangeError);
    expect(() => deriveSeed(0, seed)).toThrow(RangeError);
  });
});

describe("integer, pick, shuffle and normal", () => {
  test("integers stay in their range, including its ends", () => {
    const bound = fc.integer({ min: -(2 ** 52), max: 2 ** 52 });
    fc.assert(
      fc.property(finite, bound, bound, (seed, a, b) => {
        const [minimum, maximum] = [Math.min(a, b), Math.max(a, b)];
        const value = createRandom(seed).integer(minimum, maximum);
        expect(Number.isSafeInteger(value) && value >= minimum && value <= maximum).toBe(true);
      }),
    );
  });

  test("every integer of a range is equally likely", () => {
    for (const count of [2, 3, 7, 100]) {
      const random = createRandom(count);
      const counts = new Array<number>(count).fill(0);
      for (let i = 0; i < 50_000; i++) counts[random.integer(-5, count - 6) + 5]!++;
      expectUniform(counts);
    }
  });

  test.each([
    [3, 2],
    [0.5, 2],
    [0, Number.NaN],
    [0, Number.POSITIVE_INFINITY],
    [0, 2 ** 53],
    [-(2 ** 53) + 1, 2 ** 53 - 1],
  ])("a range without integers is refused: %s to %s", (minimum, maximum) => {
    expect(() => createRandom(0).integer(minimum, maximum)).toThrow(RangeError);
  });

  test("pick returns one of the items, and refuses an empty list", () => {
    const random = createRandom(1);
    expect(new Set(Array.from({ length: 100 }, () => random.pick(["a", "b", "c"])))).toEqual(new Set(["a", "b", "c"]));
    expect(random.pick([undefined])).toBeUndefined();
    expect(() => random.pick([])).toThrow(RangeError);
  });

  test("shuffle keeps the items and does not change its argument", () => {
    fc.assert(
      fc.property(finite, fc.array(fc.integer()), (seed, items) => {
        const before = [...items];
        const shuffled = createRandom(seed).shuffle(items);
        expect(items).toEqual(before);
        expect(shuffled.toSorted()).toEqual(before.toSorted());
        expect(shuffled).not.toBe(items);
      }),
    );
  });

  test("every order is equally likely", () => {
    const random = createRandom(3);
    const orders = new Map<string, number>();
    for (let i = 0; i < 24_000; i++) {
      const order = random.shuffle("abcd".split("")).join("");
      orders.set(order, (orders.get(order) ?? 0) + 1);
    }
    expect(orders.size).toBe(24);
    expectUniform([...orders.values()]);
  });

  test("normal numbers have the moments of the normal distribution", () => {
    const random = createRandom(4);
    const values = Array.from({ length: 100_000 }, random.normal);
    const moment = (power: number): number => values.reduce((sum, value) => sum + value ** power, 0) / values.length;
    expect(Math.abs(moment(1))).toBeLessThan(5 / Math.sqrt(100_000));
    expect(Math.abs(moment(2) - 1)).toBeLessThan(0.025);
    expect(Math.abs(moment(3))).toBeLessThan(0.07);
    expect(Math.abs(moment(4) - 3)).toBeLessThan(0.2);
    const within = values.filter((value) => Math.abs(value) < 1).length / values.length;
    expect(Math.abs(within - 0.6827)).toBeLessThan(0.01);
    expect(values.every(Number.isFinite)).toBe(true);
  });
});

describe("derived seeds", () => {
  test("these seeds never change", () => {
    expect([deriveSeed(0), deriveSeed(1, "task", 2), deriveSeed(2 ** 53 - 1, "é", -0.5)]).toMatchInlineSnapshot(`
      [
        797042311346159,
        396049334554440,
        3574222682386340,
      ]
    `);
  });

  test("are integers in [0, 2^53), and depend on every part of the key", () => {
    const part = fc.oneof(fc.string(), fc.integer(), finite);
    fc.assert(
      fc.property(finite, fc.array(part), fc.array(part), (seed, first, second) => {
        const derived = deriveSeed(seed, ...first);
        expect(Number.isSafeInteger(derived) && derived >= 0).toBe(true);
        expect(deriveSeed(seed, ...first)).toBe(derived);
        const same = first.length === second.length && first.every((value, i) => value === second[i]);
        expect(deriveSeed(seed, ...second) === derived).toBe(same);
      }),
      { numRuns: 1000 },
    );
  });

  test("keys that look alike give different seeds", () => {
    const keys: (string | number)[][] = [
      [],
      [""],
      ["", ""],
      ["ab"],
      ["a", "b"],
      ["b", "a"],
      ["ab", ""],
      ["", "ab"],
      ["a\u0000b"],
      [1],
      ["1"],
      [1, 0],
      [10],
      [0, 1],
      [1.5],
      [-1],
      [2 ** 32 + 1],
      ["\u0001"],
      [1, 2, 3],
      [12, 3],
      ["1", 23],
    ];
    const seeds = keys.flatMap((key) => [deriveSeed(0, ...key), deriveSeed(1, ...key)]);
    expect(new Set(seeds).size).toBe(2 * keys.length);
  });

  test("a grid of a million keys has no collision", () => {
    const seeds = new Set<number>();
    for (let task = 0; task < 1000; task++) {
      for (let sampleIndex = 0; sampleIndex < 100; sampleIndex++) {
        for (let turn = 0; turn < 10; turn++) seeds.add(deriveSeed(5, task, sampleIndex, "agent", turn));
      }
    }
    expect(seeds.size).toBe(1_000_000);
  });

  test("are spread evenly, high bits and low", () => {
    const high = new Array<number>(64).fill(0);
    const low = new Array<number>(64).fill(0);
    for (let i = 0; i < 50_000; i++) {
      const seed = deriveSeed(0, i);
      high[Math.floor(seed / 2 ** 47)]!++;
      low[seed % 64]!++;
    }
    expectUniform(high);
    expectUniform(low);
  });

  test("a derived seed does not give its root's stream", () => {
    expect(deriveSeed(7)).not.toBe(7);
    expect(stream(deriveSeed(7, 0))).not.toEqual(stream(7));
    expect(deriveSeed(deriveSeed(1, 2), 3)).not.toBe(deriveSeed(1, 2, 3));
  });
});
