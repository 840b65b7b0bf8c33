import { describe, expect, test } from "vitest";
import { defineParallelEnvironment } from "../../src/core/environment/define-parallel-environment.ts";
import { scriptedPolicy } from "../../src/core/policy/scripted-policy.ts";
import { createRandom } from "../../src/core/random/random.ts";
import { evaluate } from "../../src/evaluation/evaluate.ts";
import type { Matches } from "../../src/evaluation/ratings/matches.ts";
import { rateMatches, rateRuns } from "../../src/evaluation/ratings/rate-runs.ts";
import { rotatePlayers } from "../../src/evaluation/rotate-players.ts";
import { evaluated, temporaryFolder } from "./answer-environment.ts";

const models = ["a", "b", "c"];

/** Games of all pairs on the same tasks, two per task. */
function simulated(ratings: readonly number[], options: { readonly tasks: number; readonly seed: number }): Matches[] {
  const random = createRandom(options.seed);
  const runs: Matches[] = [];
  for (let first = 0; first < ratings.length; first++) {
    for (let second = first + 1; second < ratings.length; second++) {
      const wins = 1 / (1 + 10 ** ((ratings[second]! - ratings[first]!) / 400));
      const game = (): number => Number(random.next() < wins);
      const scores = Array.from({ length: options.tasks }, (_, task) => [`t${task}`, [game(), game()]] as const);
      runs.push({ name: "g", models: [models[first]!, models[second]!], scores: new Map(scores), unscored: 0 });
    }
  }
  return runs;
}

describe("ratings", () => {
  test("have intervals that cover the true ratings about as often as their level states", () => {
    const truth = [1120, 1000, 880];
    const tournaments = 40;
    let covered = 0;
    for (let seed = 0; seed < tournaments; seed++) {
      const { players } = rateMatches(simulated(truth, { tasks: 40, seed }));
      for (const { model, interval } of players) {
        const rating = truth[models.indexOf(model)]!;
        if (interval!.low <= rating && rating <= interval!.high) covered += 1;
      }
    }
    // 95% of 120 intervals that are not independent: four standard errors on both sides.
    expect(covered / (3 * tournaments)).toBeGreaterThan(0.88);
    expect(covered / (3 * tournaments)).toBeLessThan(1);
  });

  test("count all games from both sides, strongest first, in any order of the runs", () => {
    const runs = simulated([900, 1000, 1100], { tasks: 30, seed: 1 });
    const { players, pairs, name } = rateMatches(runs);
    expect(name).toBe("g");
    expect(players.map(({ model }) => model)).toEqual(["c", "b", "a"]);
    expect(players.reduce((sum, { rating }) => sum + rating, 0)).toBeCloseTo(3000, 6);
    for (const { model, games, wins, draws, losses } of players) {
      expect([games, wins + draws + losses]).toEqual([120, 120]);
      const own = pairs.filter(({ first, second }) => first === model || second === model);
      expect(own.reduce((sum, pair) => sum + (pair.first === model ? pair.wins : pair.losses), 0)).toBe(wins);
    }
    const reversed = rateMatches(runs.toReversed());
    for (const [index, { model, rating }] of reversed.players.entries()) {
      expect(model).toBe(players[index]!.model);
      expect(rating).toBeCloseTo(players[index]!.rating, 6);
    }
  });

  test("have no interval for one task, and no score for pairs without games", () => {
    const nothing: Matches = { name: "g", models: ["a", "b"], scores: new Map([["t", []]]), unscored: 2 };
    const { players, pairs } = rateMatches([nothing]);
    expect(players).toEqual([
      { model: "a", rating: 1000, games: 0, wins: 0, draws: 0, losses: 0 },
      { model: "b", rating: 1000, games: 0, wins: 0, draws: 0, losses: 0 },
    ]);
    expect(pairs).toMatchObject([{ score: null, expected: 0.5, unscored: 2, games: 0 }]);
  });
});

/** The greater number wins, whatever the agent. Numbers above 9 are unscored. */
const greater = defineParallelEnvironment<"left" | "right", { readonly n: number }, null>({
  id: "greater",
  agents: ["left", "right"],
  tasks: Array.from({ length: 4 }, (_, n) => ({ n })),
  reset: () => ({ prompts: { left: "A number?", right: "A number?" }, state: null }),
  step: ({ texts }) => {
    const [left, right] = [Number(texts.left), Number(texts.right)];
    if (left > 9 || right > 9) return { reward: { status: "unscored", reason: "too great" } };
    return { rewards: { left: Math.sign(left - right), right: Math.sign(right - left) } };
  },
});

test("runs with rotated models are rated by model, not by agent", async () => {
  const folders: string[] = [];
  const numbers = { one: 1, two: 2, five: 5 } as Readonly<Record<string, number>>;
  for (const [first, second] of [
    ["one", "two"],
    ["one", "five"],
    ["two", "five"],
  ] as const) {
    const folder = await temporaryFolder();
    folders.push(folder);
    // In the last task, "two" names a number that is unscored.
    const player = (name: string) =>
      scriptedPolicy(({ episode }) => String(name === "two" && episode!.task.index === 3 ? 10 : numbers[name]), {
        name,
      });
    const policies = rotatePlayers(["left", "right"], [player(first), player(second)]);
    const seats = { policies, models: { left: first, right: second }, rotated: true };
    await Array.fromAsync(evaluate({ environment: greater, ...seats, samples: 2, folder }));
  }
  const { players, pairs } = await rateRuns(folders);
  expect(players.map(({ model, wins, draws, losses }) => [model, wins, draws, losses])).toEqual([
    ["five", 14, 0, 0],
    ["two", 6, 0, 6],
    ["one", 0, 0, 14],
  ]);
  expect(pairs).toMatchObject([
    { first: "one", second: "two", games: 6, wins: 0, unscored: 2, score: 0 },
    { first: "one", second: "five", games: 8, wins: 0, unscored: 0 },
    { first: "two", second: "five", games: 6, wins: 0, unscored: 2 },
  ]);
});

test("a run of one model is not a match", async () => {
  const folder = await temporaryFolder();
  await evaluated([["1"]], { folder });
  await expect(rateRuns([folder])).rejects.toMatchObject({ code: "config.invalid" });
  await expect(rateRuns(["/nowhere"])).rejects.toMatchObject({ code: "data.not-found" });
});
