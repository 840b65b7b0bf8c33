import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  encodeSupport,
  supportProblem,
  supportWords,
  type TokenSupport,
  writeSupport,
} from "../../../src/contract/token-support.ts";

/** A vocabulary with some of its ids in any order, at least one. */
const kept = fc
  .integer({ min: 1, max: 200 })
  .chain((vocabulary) =>
    fc.tuple(
      fc.constant(vocabulary),
      fc.uniqueArray(fc.integer({ min: 0, max: vocabulary - 1 }), { minLength: 1, maxLength: vocabulary }),
    ),
  );

/** The ids whose bits are set in the words of a support. */
function idsOf(support: TokenSupport, vocabulary: number): number[] {
  const words = new Int32Array(supportWords(vocabulary)).fill(12_345);
  writeSupport(support, words);
  return Array.from({ length: vocabulary }, (_, id) => id).filter((id) => ((words[id >> 5]! >>> (id & 31)) & 1) === 1);
}

describe("a support", () => {
  it("keeps its ids, also as a line of a trace", () => {
    fc.assert(
      fc.property(kept, ([vocabulary, ids]) => {
        const support = JSON.parse(JSON.stringify(encodeSupport(ids, vocabulary))) as TokenSupport;
        expect(idsOf(support, vocabulary)).toEqual(ids.toSorted((a, b) => a - b));
        for (let id = 0; id < vocabulary; id++) {
          const problem = supportProblem(support, id, vocabulary);
          expect(problem === undefined, `${id}: ${problem}`).toBe(ids.includes(id));
        }
      }),
    );
  });

  it("is null for the whole vocabulary, ids if there are few, and never longer than a bitmap", () => {
    const vocabulary = 49_152;
    const all = Array.from({ length: vocabulary }, (_, id) => id);
    expect(encodeSupport(all, vocabulary)).toBeNull();
    expect(encodeSupport([7, 3, 40_000], vocabulary)).toEqual([3, 7, 40_000]);
    for (const count of [1000, 1535, 1536, 20_000, vocabulary - 1]) {
      expect(JSON.stringify(encodeSupport(all.slice(-count), vocabulary)).length).toBeLessThan(10_000);
    }
  });

  it.each<[string, TokenSupport, RegExp]>([
    ["without any id", [], /lacks the target 3/],
    ["without the target", [2, 4], /lacks the target 3/],
    ["out of order", [4, 3], /ascending/],
    ["with an id twice", [3, 3], /ascending/],
    ["with an id below 0", [-1, 3], /ascending/],
    ["with an id that is no number", [3, Number.NaN], /ascending/],
    ["beyond the vocabulary", [3, 40], /has the id 40, but the vocabulary has 40 ids/],
    ["as a bitmap of another vocabulary", "CAAAAA==", /bitmap of 4 bytes.*40 ids needs 8/],
    ["as a bitmap beyond the vocabulary", Buffer.alloc(8, 255).toString("base64"), /has the id 40/],
    ["as a bitmap without the target", Buffer.alloc(8).toString("base64"), /lacks the target 3/],
    ["as something else", { 0: 3 } as never, /neither/],
  ])("%s has a problem", (_, support, problem) => {
    expect(supportProblem(support, 3, 40)).toMatch(problem);
  });
});
