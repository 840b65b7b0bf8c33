import { freeCells, type Moves, result } from "./board.ts";

/**
 * Returns an optimal move (minimax): the first cell that wins soonest, otherwise one that draws, otherwise one that
 * loses latest. The game must not be over.
 */
export function bestMove(moves: Moves): number {
  let [best, most] = [0, -Infinity];
  for (const cell of freeCells(moves)) {
    const value = -worth([...moves, cell], -Infinity, -most);
    if (value > most) [best, most] = [cell, value];
  }
  return best;
}

/**
 * Returns the value of a position for the player to move. It is positive if the player wins, and larger the sooner. It
 * is exact between `low` and `high`, and otherwise a bound (alpha-beta).
 */
function worth(moves: Moves, low: number, high: number): number {
  const end = result(moves);
  if (end === "draw") return 0;
  // The player who moved last won the game.
  if (end !== undefined) return moves.length - 10;
  let most = low;
  for (const cell of freeCells(moves)) {
    most = Math.max(most, -worth([...moves, cell], -high, -most));
    if (most >= high) break;
  }
  return most;
}

/** Returns the game that follows a position if both players play optimally. */
export function perfectGame(opening: Moves): Moves {
  let moves = opening;
  while (result(moves) === undefined) moves = [...moves, bestMove(moves)];
  return moves;
}
