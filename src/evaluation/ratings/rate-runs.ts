import type { Interval } from "../log/summary.ts";
import { bootstrapEstimates, percentileInterval } from "../metrics/confidence-interval.ts";
import { bradleyTerry, drawnGamesPrior } from "./bradley-terry.ts";
import { type Matches, readMatches } from "./matches.ts";

/** `ratings.json`: the strengths of the players of a tournament. */
export interface Ratings {
  readonly format: "lyceum-ratings";
  readonly version: 1;
  /** The names of the benchmarks or environments. */
  readonly name: string;
  /** The number of drawn games that are added to each pair's own games. See {@link bradleyTerry}. */
  readonly prior: number;
  /** The players, strongest first. */
  readonly players: readonly RatedPlayer[];
  readonly pairs: readonly RatedPair[];
}

/** The numbers of games by result. */
interface GameCounts {
  readonly games: number;
  readonly wins: number;
  readonly draws: number;
  readonly losses: number;
}

/** A player of a tournament. */
export interface RatedPlayer extends GameCounts {
  readonly model: string;
  /** On the Elo scale: the mean of all players is 1,000. A difference of 400 means odds of ten to one. */
  readonly rating: number;
  /**
   * The bootstrap interval. Tasks are resampled together with the games of all pairs on them. Absent for fewer than two
   * tasks.
   */
  readonly interval?: Interval;
}

/** The games between two players. Wins and losses are those of the first. */
export interface RatedPair extends GameCounts {
  readonly first: string;
  readonly second: string;
  /** The share of points: wins plus half of the draws. Null if there are no games. */
  readonly score: number | null;
  /** The score that the ratings predict. */
  readonly expected: number;
  readonly unscored: number;
}

/**
 * Rates the models of evaluations with two models each, by all games together. A game is one scored episode. The model
 * with the higher reward wins. Throws like `readMatches`.
 */
export async function rateRuns(folders: readonly string[]): Promise<Ratings> {
  return rateMatches(await Promise.all(folders.map(readMatches)));
}

/** Like {@link rateRuns}, for games in memory. */
export function rateMatches(runs: readonly Matches[]): Ratings {
  const models = [...new Set(runs.flatMap((run) => run.models))];
  const games = runs.flatMap(({ models: [first, second], scores }) =>
    [...scores].map(([task, of]) => ({
      task,
      first: models.indexOf(first),
      second: models.indexOf(second),
      scores: of,
    })),
  );
  const byTask = [...Map.groupBy(games, ({ task }) => task).values()];
  const strengths = strengthsOf(byTask, models.length);
  const intervals = ratingIntervals(byTask, models.length);
  const players = models.map((model, index): RatedPlayer => {
    const own = games.flatMap(({ first, second, scores }) =>
      first === index ? scores : second === index ? scores.map((score) => 1 - score) : [],
    );
    const interval = intervals?.[index];
    const rating = eloRating(strengths[index]!);
    return { model, rating, interval, ...gameCounts(own) };
  });
  return {
    format: "lyceum-ratings",
    version: 1,
    name: [...new Set(runs.map(({ name }) => name))].join(", "),
    prior: drawnGamesPrior,
    players: players.sort((one, other) => other.rating - one.rating),
    pairs: runs.map((run) => ratedPair(run, { models, strengths })),
  };
}

/** The scores of one pair of players on one task. Players are indices. */
interface PairGames {
  readonly first: number;
  readonly second: number;
  readonly scores: readonly number[];
}

function strengthsOf(tasks: readonly (readonly PairGames[])[], players: number): readonly number[] {
  const points = Array.from({ length: players }, () => new Array<number>(players).fill(0));
  for (const { first, second, scores } of tasks.flat()) {
    for (const score of scores) {
      points[first]![second]! += score;
      points[second]![first]! += 1 - score;
    }
  }
  return bradleyTerry(points);
}

/** Resamples whole tasks, because games on the same task are not independent. */
function ratingIntervals(tasks: readonly (readonly PairGames[])[], players: number): Interval[] | undefined {
  if (tasks.length < 2) return undefined;
  const drawn = bootstrapEstimates(tasks, (again) => strengthsOf(again, players));
  return Array.from({ length: players }, (_, player) =>
    percentileInterval(drawn.map((strengths) => eloRating(strengths[player]!))),
  );
}

function eloRating(strength: number): number {
  return 1000 + (400 / Math.LN10) * strength;
}

function gameCounts(scores: readonly number[]): GameCounts {
  const wins = scores.filter((score) => score === 1).length;
  const losses = scores.filter((score) => score === 0).length;
  return { games: scores.length, wins, draws: scores.length - wins - losses, losses };
}

function ratedPair(
  { models: [first, second], scores, unscored }: Matches,
  { models, strengths }: { readonly models: readonly string[]; readonly strengths: readonly number[] },
): RatedPair {
  const counts = gameCounts([...scores.values()].flat());
  const { games, wins, draws } = counts;
  const ahead = strengths[models.indexOf(first)]! - strengths[models.indexOf(second)]!;
  return {
    first,
    second,
    ...counts,
    score: games === 0 ? null : (wins + draws / 2) / games,
    expected: 1 / (1 + Math.exp(-ahead)),
    unscored,
  };
}
