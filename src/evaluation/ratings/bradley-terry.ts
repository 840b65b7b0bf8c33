import { LyceumError } from "../../contract/errors/index.ts";
import { sum } from "../../core/statistics.ts";

/** The number of drawn games that are added to each pair's own games. */
export const drawnGamesPrior = 1;

/** The maximum number of iterations, far above what is needed, and the change of a strength at which they end. */
const [maxRounds, settled] = [100_000, 1e-11];

/**
 * Returns the strengths of players by the Bradley-Terry model (Bradley and Terry 1952). `points[i][j]` are the points
 * of player i against player j. A draw is half a point. Player i beats player j with probability 1 / (1 + exp(s_j -
 * s_i)). The maximum likelihood is found by minorisation-maximisation (Hunter 2004,
 * https://doi.org/10.1214/aos/1079120141, equation 3): g_i becomes W_i / sum over j of n_ij / (g_i + g_j), for
 * strengths s = ln g.
 *
 * Without a prior, a player who won all games would be infinitely strong, and players without common games could not be
 * compared. `prior` drawn games (1 by default) are therefore added to each pair's own. They keep strengths finite and
 * have little weight if there are many games. Strengths are natural logarithms with a mean of 0.
 *
 * Throws `data.malformed` if the table is not square, if points are negative or not finite, or if the prior is not
 * positive.
 */
export function bradleyTerry(
  points: readonly (readonly number[])[],
  { prior = drawnGamesPrior }: { readonly prior?: number } = {},
): readonly number[] {
  checkPoints(points, prior);
  const players = [...points.keys()];
  const games = players.map((i) => players.map((j) => (i === j ? 0 : points[i]![j]! + points[j]![i]! + prior)));
  const won = players.map((i) =>
    players.reduce((total, j) => (i === j ? total : total + points[i]![j]! + prior / 2), 0),
  );
  let strengths = players.map(() => 0);
  for (let round = 0; round < maxRounds && players.length > 1; round++) {
    const values = strengths.map(Math.exp);
    const next = players.map((i) => {
      const expected = players.reduce(
        (total, j) => (i === j ? total : total + games[i]![j]! / (values[i]! + values[j]!)),
        0,
      );
      return Math.log(won[i]! / expected);
    });
    const mean = sum(next) / players.length;
    const centred = next.map((value) => value - mean);
    const change = Math.max(...players.map((i) => Math.abs(centred[i]! - strengths[i]!)));
    strengths = centred;
    if (change < settled) break;
  }
  return strengths;
}

function checkPoints(points: readonly (readonly number[])[], prior: number): void {
  const isSquare = points.every((row) => row.length === points.length);
  const areCounts = points.every((row) => row.every((value) => value >= 0 && Number.isFinite(value)));
  if (isSquare && areCounts && prior > 0 && Number.isFinite(prior)) return;
  throw new LyceumError({
    code: "data.malformed",
    message: "The points of a tournament are not a square table of counts, or its prior is not positive.",
    hint: "Pass one row per player, with its points against each player and 0 against itself.",
  });
}
