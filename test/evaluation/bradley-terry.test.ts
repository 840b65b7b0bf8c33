import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createRandom } from "../../src/core/random/random.ts";
import { bradleyTerry } from "../../src/evaluation/ratings/bradley-terry.ts";

const logistic = (value: number): number => 1 / (1 + Math.exp(-value));

/** A table of points, with some games of each pair and some wins of the first. */
const table = fc.integer({ min: 2, max: 6 }).chain((players) =>
  fc
    .array(fc.tuple(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 0, max: 200 })), {
      minLength: players * players,
      maxLength: players * players,
    })
    .map((pairs) =>
      Array.from({ length: players }, (_, i) =>
        Array.from({ length: players }, (_unused, j) =>
          i === j ? 0 : i < j ? pairs[i * players + j]![0] / 2 : pairs[j * players + i]![1] / 2,
        ),
      ),
    ),
);

/** A table that matches these strengths exactly, with this number of games per pair. */
function expectedPoints(strengths: readonly number[], games: number): number[][] {
  return strengths.map((own, i) => strengths.map((other, j) => (i === j ? 0 : games * logistic(own - other))));
}

describe("the strengths of players", () => {
  test("give each player the expected points: the only maximum of the likelihood", () => {
    fc.assert(
      fc.property(table, fc.constantFrom(0.25, 1, 3), (points, prior) => {
        const strengths = bradleyTerry(points, { prior });
        for (const [i, own] of strengths.entries()) {
          let [won, expected] = [0, 0];
          for (const [j, other] of strengths.entries()) {
            if (i === j) continue;
            won += points[i]![j]! + prior / 2;
            expected += (points[i]![j]! + points[j]![i]! + prior) * logistic(own - other);
          }
          expect(expected).toBeCloseTo(won, 6);
        }
        expect(strengths.reduce((sum, value) => sum + value, 0)).toBeCloseTo(0, 9);
      }),
      { numRuns: 100 },
    );
  });

  test("of two players are the odds of their points, including the drawn game", () => {
    const [first, second] = bradleyTerry([
      [0, 30],
      [10, 0],
    ]);
    expect(first! - second!).toBeCloseTo(Math.log(30.5 / 10.5), 9);
    expect(bradleyTerry([[0]])).toEqual([0]);
    expect(bradleyTerry([])).toEqual([]);
  });

  test("do not depend on the order of players, and change sign if all results are reversed", () => {
    fc.assert(
      fc.property(table, fc.nat(), (points, seed) => {
        const order = createRandom(seed).shuffle([...points.keys()]);
        const strengths = bradleyTerry(points);
        const permuted = bradleyTerry(order.map((i) => order.map((j) => points[i]![j]!)));
        const turned = bradleyTerry(points.map((_, i) => points.map((row) => row[i]!)));
        for (const [place, i] of order.entries()) expect(permuted[place]).toBeCloseTo(strengths[i]!, 7);
        for (const [i, value] of strengths.entries()) expect(turned[i]).toBeCloseTo(-value, 7);
      }),
    );
  });

  test("of an equal copy are equal, and do not change the others if the games match the model", () => {
    fc.assert(
      fc.property(table, (points) => {
        const last = points.length - 1;
        // The copy has the same games against all others, and draws against the original.
        const copied = [...points, points[last]!].map((row, i) => [...row, i < last ? row[last]! : 0]);
        copied[last]![last + 1] = 5;
        copied[last + 1]![last] = 5;
        copied[last + 1]![last + 1] = 0;
        const strengths = bradleyTerry(copied);
        expect(strengths[last + 1]).toBeCloseTo(strengths[last]!, 7);
      }),
    );
    const true_ = [0.8, -0.3, 0.1];
    const alone = bradleyTerry(expectedPoints(true_, 1e6));
    const beside = bradleyTerry(expectedPoints([...true_, 0.1], 1e6));
    for (const other of [1, 2]) expect(beside[other]! - beside[0]!).toBeCloseTo(alone[other]! - alone[0]!, 4);
  });

  test("are finite for a player who always wins and for players who never met, and grow with each win", () => {
    let before = -Infinity;
    for (const games of [1, 10, 100, 1000, 10_000]) {
      const [champion, ...others] = bradleyTerry([
        [0, games, games],
        [0, 0, games / 2],
        [0, games / 2, 0],
      ]);
      expect(Number.isFinite(champion)).toBe(true);
      expect(champion).toBeGreaterThan(before);
      // The other players only have half a point each, from the drawn game.
      expect(champion! - others[0]!).toBeCloseTo(Math.log((games + 0.5) / 0.5), 6);
      before = champion!;
    }
    const strangers = bradleyTerry([
      [0, 9, 0, 0],
      [0, 0, 0, 0],
      [0, 0, 0, 9],
      [0, 0, 0, 0],
    ]);
    expect(strangers[0]).toBeCloseTo(strangers[2]!, 9);
    expect(strangers.every(Number.isFinite)).toBe(true);
  });

  test("are recovered from simulated games", () => {
    const strengths = [1.2, 0.5, 0, -0.4, -1.3];
    const random = createRandom(3);
    const points = strengths.map(() => strengths.map(() => 0));
    for (const [i, own] of strengths.entries()) {
      for (let j = i + 1; j < strengths.length; j++) {
        for (let game = 0; game < 4000; game++) {
          if (random.next() < logistic(own - strengths[j]!)) points[i]![j]! += 1;
          else points[j]![i]! += 1;
        }
      }
    }
    // With 4,000 games the standard error of a strength is about 0.02.
    for (const [i, value] of bradleyTerry(points).entries()) expect(Math.abs(value - strengths[i]!)).toBeLessThan(0.08);
  });

  test.each([
    [[[0, 1]], {}],
    [
      [
        [0, -1],
        [1, 0],
      ],
      {},
    ],
    [
      [
        [0, Number.NaN],
        [1, 0],
      ],
      {},
    ],
    [
      [
        [0, 1],
        [1, 0],
      ],
      { prior: 0 },
    ],
  ])("cannot be computed from %j with %j", (points, options) => {
    expect(() => bradleyTerry(points, options)).toThrow(expect.objectContaining({ code: "data.malformed" }));
  });
});
