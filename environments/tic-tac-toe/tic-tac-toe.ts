import { z } from "zod";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { defineParallelEnvironment, type Prompts } from "../../src/core/environment/define-parallel-environment.ts";
import { defineEnvironmentEntry, parseEnvironmentOptions } from "../../src/core/environment/registry.ts";
import { drawBoard, freeCells, type Moves, openings, type Player, playerToMove, result } from "./board.ts";
import { perfectGame } from "./minimax.ts";

/** The options of the tic-tac-toe environment. The schema describes each one. */
export type TicTacToeOptions = Readonly<z.output<typeof schema>>;

/** The opening moves of a game. */
export interface TicTacToeTask {
  readonly opening: Moves;
}

interface Game {
  readonly moves: Moves;
  /** The number of invalid replies of each player. */
  readonly refused: Readonly<Record<Player, number>>;
}

const schema = z.strictObject({
  openingMoves: z.int().min(0).max(4).default(1).describe("The number of moves before the agents play."),
  retries: z
    .int()
    .min(0)
    .max(5)
    .default(1)
    .describe("The number of invalid replies that a player may give. The next one loses the game."),
});

const description = "Tic-tac-toe in self-play: X and O in turns, 1 for the winner and -1 for the loser.";

/**
 * Creates the tic-tac-toe environment with the agents `x` and `o`. Only the agent to move is asked. The reward is 1 for
 * the winner, -1 for the loser, and 0 for both at a draw. Tasks are openings, of which one in five is in `test`. The
 * empty board is only in `train`.
 */
export function ticTacToeEnvironment(options: Partial<TicTacToeOptions> = {}): EnvironmentDefinition<TicTacToeTask> {
  const { openingMoves, retries } = parseEnvironmentOptions("tic-tac-toe", schema, options);
  return defineParallelEnvironment<Player, TicTacToeTask, Game>({
    id: "tic-tac-toe",
    description,
    agents: ["x", "o"],
    splits: openingMoves === 0 ? ["train"] : ["train", "test"],
    tasks: (split) =>
      openings(openingMoves)
        .filter((_, i) => (i % 5 === 2) === (split === "test"))
        .map((opening) => ({ opening })),
    maxTurns: 9 - openingMoves + 2 * retries,
    rewardRange: [-1, 1],
    reset: ({ task: { opening } }) => ({ prompts: ask(opening), state: { moves: opening, refused: { x: 0, o: 0 } } }),
    step: ({ state: { moves, refused }, texts }) => {
      const player = playerToMove(moves);
      const cell = readCell(texts[player]);
      if (cell === undefined || !freeCells(moves).includes(cell)) {
        if (refused[player] === retries) return { rewards: rewardsOf(player === "x" ? "o" : "x") };
        const again = { ...refused, [player]: refused[player] + 1 };
        return {
          replies: { [player]: `That is no free cell. Choose one of ${freeCells(moves).join(", ")}.` },
          state: { moves, refused: again },
        };
      }
      const next = [...moves, cell];
      const end = result(next);
      return end === undefined ? { replies: ask(next), state: { moves: next, refused } } : { rewards: rewardsOf(end) };
    },
    demonstrate: ({ opening }) => {
      const game = perfectGame(opening);
      return game
        .slice(opening.length)
        .map((cell, turn) => ({ [playerToMove(game.slice(0, opening.length + turn))]: String(cell) }));
    },
  });
}

/** Returns the prompt of the player to move, with the board. */
function ask(moves: Moves): Prompts<Player> {
  const player = playerToMove(moves);
  const text =
    `Tic-tac-toe, you play ${player.toUpperCase()}. The board, where a number is a free cell:\n\n${drawBoard(moves)}\n\n` +
    "Three in a row, column or diagonal win. The last number of your reply is the cell that you take.";
  return { [player]: text };
}

function rewardsOf(end: Player | "draw"): Readonly<Record<Player, number>> {
  if (end === "draw") return { x: 0, o: 0 };
  return end === "x" ? { x: 1, o: -1 } : { x: -1, o: 1 };
}

/** Returns the last whole number of a reply. */
function readCell(text: string): number | undefined {
  const last = text.match(/\d+/g)?.at(-1);
  return last === undefined ? undefined : Number(last);
}

/** The registry entry of the tic-tac-toe environment. */
export const ticTacToeEntry = defineEnvironmentEntry({
  id: "tic-tac-toe",
  description,
  options: schema,
  create: ticTacToeEnvironment,
});
