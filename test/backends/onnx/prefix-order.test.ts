import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mergePrefixes, prefixOrder } from "../../../trainers/backends/onnx/engine/prefix-order.ts";
import { keptBytes } from "../../../trainers/model-folders/architecture/kept-activations.ts";
import { sharedActivationBytes, splitPass } from "../../../trainers/model-folders/architecture/split-pass.ts";

/** Sequences of two ids, of which many have common prefixes, some are equal, and some are empty. */
const sequenceLists = fc.array(fc.array(fc.constantFrom(0, 1), { maxLength: 12 }), { maxLength: 12 });

function common(a: readonly number[], b: readonly number[]): number {
  const place = a.findIndex((id, i) => id !== b[i]);
  return place === -1 ? a.length : place;
}

describe("prefixOrder", () => {
  it("puts each sequence after the one with which it shares most, except for its last token", () => {
    fc.assert(
      fc.property(sequenceLists, (sequences) => {
        const { order, shared } = prefixOrder(sequences);
        expect(order.toSorted((a, b) => a - b)).toEqual([...sequences.keys()]);
        for (const [place, index] of order.entries()) {
          const sequence = sequences[index]!;
          const earlier = order.slice(0, place).map((other) => common(sequence, sequences[other]!));
          expect(shared[place]).toBe(Math.max(0, Math.min(Math.max(0, ...earlier), sequence.length - 1)));
        }
      }),
    );
  });

  it("begins with the branch of the longest sequence", () => {
    const sequences = [
      [1, 2],
      [3, 3, 3],
      [1, 2, 5, 6, 7],
      [1, 4, 4, 4],
    ];
    expect(prefixOrder(sequences)).toEqual({ order: [2, 0, 3, 1], shared: [0, 1, 1, 0] });
  });
});

describe("mergePrefixes", () => {
  it("gives places one token only if everything up to them is equal, and has the shared tokens first", () => {
    fc.assert(
      fc.property(sequenceLists, (sequences) => {
        const { tokenOf, starts, tokens, shared, copies } = mergePrefixes(sequences);
        const users = new Map<number, { prefix: string; sequences: Set<number> }>();
        for (const [index, sequence] of sequences.entries()) {
          expect(tokenOf[index]).toHaveLength(sequence.length);
          expect(starts[index]).toBeLessThan(Math.max(1, sequence.length));
          for (const [i, token] of tokenOf[index]!.entries()) {
            const prefix = sequence.slice(0, i + 1).join();
            const user = users.get(token) ?? { prefix, sequences: new Set() };
            expect(user.prefix).toBe(prefix);
            user.sequences.add(index);
            users.set(token, user);
          }
        }
        expect([...users.keys()].toSorted((a, b) => a - b)).toEqual(Array.from({ length: tokens }, (_, i) => i));
        for (const [token, user] of users) expect(user.sequences.size > 1).toBe(token < shared);
        expect(copies).toBe(Math.max(1, ...[...users.values()].map((user) => user.sequences.size)));
      }),
    );
  });
});

describe("splitPass", () => {
  const widths = { hiddenSize: 8192, queryWidth: 8192, keyValueWidth: 1024, unitWidth: 16_384 };
  const sizes = { ...widths, layers: 2, gated: true, heads: 8, keptWidth: 67_584 };
  const lists = fc.array(
    fc
      .array(fc.integer({ min: 0, max: 2 }), { maxLength: 400 })
      .chain((tail) =>
        fc.integer({ min: 0, max: 400 }).map((kept) => [...Array.from({ length: kept }, () => 7), ...tail]),
      ),
    { maxLength: 12 },
  );

  const limit = fc.double({ min: 1.2, max: 8, noNaN: true }).map((gibibytes) => gibibytes * 2 ** 30);

  it("has every sequence once, and exceeds a limit only for a single sequence", () => {
    fc.assert(
      fc.property(
        lists,
        fc.integer({ min: 1, max: 3000 }),
        fc.boolean(),
        limit,
        (sequences, maxTokens, share, sharedBytes) => {
          const lengths = sequences.map(({ length }) => length);
          const prefixes = share ? prefixOrder(sequences) : undefined;
          const { batches, shares } = splitPass(lengths, { sizes, maxTokens, prefixes, sharedBytes });
          expect(batches.flatMap(({ indices }) => indices).toSorted((a, b) => a - b)).toEqual([...lengths.keys()]);
          for (const { indices, tokens, bytes } of batches) {
            const chosen = indices.map((index) => sequences[index]!);
            const longest = Math.max(...chosen.map(({ length }) => length));
            const total = chosen.reduce((sum, { length }) => sum + length, 0);
            expect(tokens).toBe(shares ? mergePrefixes(chosen).tokens : total);
            if (indices.length === 1) continue;
            expect(longest * indices.length - (total - tokens)).toBeLessThanOrEqual(maxTokens);
            expect(bytes).toBeLessThanOrEqual(shares ? sharedBytes : 0.6 * 2 ** 30);
          }
        },
      ),
    );
  });

  it("shares only if that saves an eighth of the work", () => {
    const group = (prompt: number) => {
      const sequences = [0, 1, 2, 3].map((row) => Array.from({ length: 100 }, (_, i) => (i < prompt ? 9 : row)));
      const lengths = sequences.map(({ length }) => length);
      return splitPass(lengths, { sizes, maxTokens: 400, prefixes: prefixOrder(sequences) });
    };
    expect(group(10).shares).toBe(false);
    expect(group(90)).toMatchObject({ shares: true, batches: [{ tokens: 90 + 4 * 10 }] });
    const starts = [0, 90, 90, 90];
    expect(group(90).batches[0]!.bytes).toBeCloseTo(keptBytes(sizes, { tokens: 130, longest: 100, starts, blocks: 1 }));
  });

  it("needs more than 1.2 GiB only if that is allowed and saves another eighth of the work", () => {
    const large = { ...sizes, layers: 20 };
    const group = (prompt: number, sharedBytes?: number) => {
      const sequences = [0, 1, 2, 3].map((row) => Array.from({ length: 240 }, (_, i) => (i < prompt ? 9 : row)));
      const prefixes = prefixOrder(sequences);
      return splitPass(new Array<number>(4).fill(240), { sizes: large, maxTokens: 2048, prefixes, sharedBytes });
    };
    expect(group(200).batches).toHaveLength(4);
    expect(group(200, 3 * 2 ** 30)).toMatchObject({ shares: true, batches: [{ tokens: 200 + 4 * 40 }] });
    expect(group(20, 3 * 2 ** 30).shares).toBe(false);
  });

  it("allows shared prefixes as much as the weights, and a quarter of the memory that is left", () => {
    const gigabytes = (weights: number, trained: number, memory: number): number =>
      sharedActivationBytes({ weightBytes: weights * 1e9, trainedBytes: trained * 1e9 }, memory * 1e9) / 1e9;
    const least = (1.2 * 2 ** 30) / 1e9;
    expect(gigabytes(0.5, 0, 64)).toBeCloseTo(least);
    expect(gigabytes(2.5, 0.02, 64)).toBeCloseTo(2.5);
    expect(gigabytes(2.5, 0.1, 9)).toBeCloseTo((9 - 2.5 - 0.3) / 4);
    expect(gigabytes(2.5, 2.5, 16)).toBeCloseTo(1.5);
    expect(gigabytes(6, 6, 16)).toBeCloseTo(least);
  });
});
