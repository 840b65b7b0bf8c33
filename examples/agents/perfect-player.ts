// A perfect opponent for measuring self-play in tic-tac-toe: it never loses a game that it can hold. Configs refer to it
// as scripted:examples/agents/perfect-player.ts.
import { type ActRequest, createRandom, textOf } from "lyceum";

const lines = ["012", "345", "678", "036", "147", "258", "048", "246"];

/** Returns a random one of the optimal moves. */
export default function perfectMove({ messages, seed }: ActRequest): string {
  const prompt = textOf(messages.at(-1)!);
  const board = /(?:[1-9XO] [1-9XO] [1-9XO]\n?){3}/.exec(prompt)![0].replaceAll(/\s/g, "");
  const own = /you play ([XO])/.exec(prompt)![1]!;
  const known = new Map<string, number>();
  const values = freeCells(board).map((cell) => ({ cell, value: -value(play(board, cell, own), other(own), known) }));
  const best = Math.max(...values.map((move) => move.value));
  return createRandom(seed).pick(values.filter((move) => move.value === best)).cell;
}

/** Returns the value of a board for the player to move: 1 for a win, 0 for a draw, -1 for a loss (minimax). */
function value(board: string, player: string, known: Map<string, number>): number {
  const before = known.get(board);
  if (before !== undefined) return before;
  const free = freeCells(board);
  // Only the player who moved last can have a line.
  const lost = lines.some((line) => [...line].every((place) => board[Number(place)] === other(player)));
  const best = (): number => Math.max(...free.map((cell) => -value(play(board, cell, player), other(player), known)));
  const result = lost ? -1 : free.length === 0 ? 0 : best();
  known.set(board, result);
  return result;
}

/** A free cell shows its number. */
function freeCells(board: string): string[] {
  return board.match(/\d/g) ?? [];
}

function play(board: string, cell: string, player: string): string {
  return board.replace(cell, player);
}

function other(player: string): string {
  return player === "X" ? "O" : "X";
}
