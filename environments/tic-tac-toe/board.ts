/** A player. X begins. */
export type Player = "x" | "o";

/** The moves so far, X's first, as cells from 1 (top left) to 9 (bottom right). They determine the complete state. */
export type Moves = readonly number[];

const lines = [
  [1, 2, 3],
  [4, 5, 6],
  [7, 8, 9],
  [1, 4, 7],
  [2, 5, 8],
  [3, 6, 9],
  [1, 5, 9],
  [3, 5, 7],
] as const;

/** Returns the player to move. */
export function playerToMove(moves: Moves): Player {
  return moves.length % 2 === 0 ? "x" : "o";
}

/** Returns the free cells, in order. */
export function freeCells(moves: Moves): readonly number[] {
  return [1, 2, 3, 4, 5, 6, 7, 8, 9].filter((cell) => !moves.includes(cell));
}

/** Returns the result of a game, or undefined if it is not over. Only the player who moved last can have won. */
export function result(moves: Moves): Player | "draw" | undefined {
  const own = moves.filter((_, turn) => turn % 2 === (moves.length - 1) % 2);
  if (lines.some((line) => line.every((cell) => own.includes(cell)))) return moves.length % 2 === 1 ? "x" : "o";
  return moves.length === 9 ? "draw" : undefined;
}

/** Draws the board with X, O and the numbers of the free cells. */
export function drawBoard(moves: Moves): string {
  const marks = Array.from({ length: 9 }, (_, i) => {
    const turn = moves.indexOf(i + 1);
    return turn === -1 ? String(i + 1) : turn % 2 === 0 ? "X" : "O";
  });
  return [0, 3, 6].map((row) => marks.slice(row, row + 3).join(" ")).join("\n");
}

/** Returns all sequences of `length` moves. The length must be too short for a win. */
export function openings(length: number): readonly Moves[] {
  let games: readonly Moves[] = [[]];
  for (let i = 0; i < length; i++) games = games.flatMap((moves) => freeCells(moves).map((cell) => [...moves, cell]));
  return games;
}
