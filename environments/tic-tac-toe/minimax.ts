import { freeCells, type Moves, result } from "./board.ts";

/**
 * A move that no reply can punish (minimax): the first cell that wins soonest, else one that draws, else one that loses
 * latest. The game must not be over.
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
 * What a position is worth to the player who is to move: more than 0 if won, and the more the sooner. Exact between
 * `low` and `high`, else a bound on its side of them (alpha-beta).
 */
function worth(moves: Moves, low: number, high: number): number {
  const end = result(moves);
  if (end === "draw") return 0;
  // A game that is won was won by the player who has just moved.
  if (end !== undefined) return moves.length - 10;
  let most = low;
  for (const cell of freeCells(moves)) {
    most = Math.max(most, -worth([...moves, cell], -high, -most));
    if (most >= high) break;
  }
  return most;
}

/** The game that goes on from a position when both play their best moves. */
export function perfectGame(opening: Moves): Moves {
  let moves = opening;
  while (result(moves) === undefined) moves = [...moves, bestMove(moves)];
  return moves;
}
