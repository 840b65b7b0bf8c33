import { LyceumError } from "../../contract/errors/index.ts";

/** Drawn games that each pair is taken to have played beside its own. */
export const drawnGamesPrior = 1;

/** The most rounds, far beyond what is needed, and the change of a logarithm that is no change. */
const [maxRounds, settled] = [100_000, 1e-11];

/**
 * The strengths of players from the points that each took from each other (a draw is half a point): `points[i][j]` is
 * what player i took from player j. Player i beats player j with probability 1 / (1 + exp(s_j - s_i)) (Bradley and
 * Terry 1952). The maximum is found by minorisation-maximisation (Hunter 2004, https://doi.org/10.1214/aos/1079120141,
 * equation 3): g_i becomes W_i / sum over j of n_ij / (g_i + g_j), for strengths s = ln g.
 *
 * A player who won every game would be infinitely strong, and players who never met could not be compared. So every
 * pair has `prior` drawn games beside its own (1 by default), half of them points of either side, which keeps
 * strengths finite and weighs little beside many games. Strengths are natural logarithms with a mean of 0.
 *
 * Throws `data.malformed` for a table that is not square, for points below 0 or not finite, and for a prior of 0 or less.
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
    const mean = next.reduce((total, value) => total + value, 0) / players.length;
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
    message: "The points of a tournament are no table of counts, or its prior is not above 0.",
    hint: "Give a row for each player with its points from every player, 0 from itself.",
  });
}
