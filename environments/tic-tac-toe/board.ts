/** Who moves: X begins. */
export type Player = "x" | "o";

/** The moves made so far, X's first, as cells from 1 (top left) to 9 (bottom right). It says all of a game. */
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

/** Whose turn it is. */
export function playerToMove(moves: Moves): Player {
  return moves.length % 2 === 0 ? "x" : "o";
}

/** The cells that are free, in order. */
export function freeCells(moves: Moves): readonly number[] {
  return [1, 2, 3, 4, 5, 6, 7, 8, 9].filter((cell) => !moves.includes(cell));
}

/** How a game ended; undefined while it goes on. Only the player who moved last can have won. */
export function result(moves: Moves): Player | "draw" | undefined {
  const own = moves.filter((_, turn) => turn % 2 === (moves.length - 1) % 2);
  if (lines.some((line) => line.every((cell) => own.includes(cell)))) return moves.length % 2 === 1 ? "x" : "o";
  return moves.length === 9 ? "draw" : undefined;
}

/** The board as it is shown: X, O, and the numbers of the free cells. */
export function drawBoard(moves: Moves): string {
  const marks = Array.from({ length: 9 }, (_, i) => {
    const turn = moves.indexOf(i + 1);
    return turn === -1 ? String(i + 1) : turn % 2 === 0 ? "X" : "O";
  });
  return [0, 3, 6].map((row) => marks.slice(row, row + 3).join(" ")).join("\n");
}

/** Every way to make so many moves, fewer than it takes to win. */
export function openings(length: number): readonly Moves[] {
  let games: readonly Moves[] = [[]];
  for (let i = 0; i < length; i++) games = games.flatMap((moves) => freeCells(moves).map((cell) => [...moves, cell]));
  return games;
}
