import type { Interval } from "../log/summary.ts";
import { drawAgain, percentileInterval } from "../metrics/interval.ts";
import { bradleyTerry, drawnGamesPrior } from "./bradley-terry.ts";
import { type Matches, readMatches } from "./matches.ts";

/** `ratings.json`: how strong the players of a tournament are. */
export interface Ratings {
  readonly format: "lyceum-ratings";
  readonly version: 1;
  /** What was played. */
  readonly name: string;
  /** Drawn games that each pair is taken to have played beside its own, as {@link bradleyTerry} has it. */
  readonly prior: number;
  /** The strongest first. */
  readonly players: readonly RatedPlayer[];
  readonly pairs: readonly RatedPair[];
}

/** Games by how they ended. */
interface GameCounts {
  readonly games: number;
  readonly wins: number;
  readonly draws: number;
  readonly losses: number;
}

/** A player of a tournament. */
export interface RatedPlayer extends GameCounts {
  readonly model: string;
  /** On Elo's scale: 1,000 is the mean of all players, and 400 more are odds of ten to one. */
  readonly rating: number;
  /** Over tasks that are drawn again, with the games of every pair on them; absent for fewer than two tasks. */
  readonly interval?: Interval;
}

/** Two players, counted from the side of the first. */
export interface RatedPair extends GameCounts {
  readonly first: string;
  readonly second: string;
  /** Wins and half of the draws, as a share; null without a game. */
  readonly score: number | null;
  /** What the ratings expect of it. */
  readonly expected: number;
  readonly unscored: number;
}

/**
 * Rates the models of evaluations that each have two, by all their games together. A game is one scored episode;
 * earning more wins it. Throws as {@link readMatches}.
 */
export async function rateRuns(folders: readonly string[]): Promise<Ratings> {
  return rateMatches(await Promise.all(folders.map(readMatches)));
}

/** The same from games in memory. */
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
    return { model, rating, ...(interval === undefined ? {} : { interval }), ...gameCounts(own) };
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

/** The scores of one pair, by the places of its players, on one task. */
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

/** Tasks are drawn whole: games on one task are not independent of each other. */
function ratingIntervals(tasks: readonly (readonly PairGames[])[], players: number): Interval[] | undefined {
  if (tasks.length < 2) return undefined;
  const drawn = drawAgain(tasks, (again) => strengthsOf(again, players));
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
