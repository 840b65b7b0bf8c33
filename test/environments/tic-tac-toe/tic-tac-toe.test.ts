import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { drawBoard, freeCells, type Moves, openings, result } from "../../../environments/tic-tac-toe/board.ts";
import { bestMove } from "../../../environments/tic-tac-toe/minimax.ts";
import { ticTacToeEnvironment } from "../../../environments/tic-tac-toe/tic-tac-toe.ts";
import type { Episode } from "../../../src/contract/episode.ts";
import type { Policy } from "../../../src/contract/policy.ts";
import { defineEnvironment } from "../../../src/core/environment/define-environment.ts";
import { demonstrationPolicy } from "../../../src/core/policy/demonstration-policy.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { rolloutEpisode } from "../../../src/core/rollout/rollout-episode.ts";
import { checkDisjoint } from "../../../src/core/taskset/disjoint.ts";
import { taskEntry } from "../../../src/core/taskset/task-entry.ts";
import { checkEnvironment } from "../../../src/entry-points/testing.ts";
import { climb } from "../hill-climber.ts";

/** Plays legal moves to the end. The numbers choose among the free cells. */
function playOut(choices: readonly number[]): Moves {
  let moves: Moves = [];
  for (const choice of choices) {
    if (result(moves) !== undefined) break;
    const free = freeCells(moves);
    moves = [...moves, free[choice % free.length]!];
  }
  return moves;
}
const choices = fc.array(fc.nat(), { minLength: 9, maxLength: 9 });

/** Returns who has three in a line on a drawn board, from its characters alone. */
function winners(board: string): readonly string[] {
  const text = board.replaceAll(/[ \n]/g, "");
  const found: string[] = [];
  for (const mark of "XO") {
    const has = (cells: string): boolean => [...cells].every((cell) => text[Number(cell)] === mark);
    if (["012", "345", "678", "036", "147", "258", "048", "246"].some(has)) found.push(mark.toLowerCase());
  }
  return found;
}

describe("the rules", () => {
  test("end a game exactly if a line is complete or the board is full", () => {
    fc.assert(
      fc.property(choices, (numbers) => {
        const game = playOut(numbers);
        for (let length = 0; length <= game.length; length++) {
          const moves = game.slice(0, length);
          const won = winners(drawBoard(moves));
          expect(result(moves)).toBe(won[0] ?? (length === 9 ? "draw" : undefined));
          expect(won.length).toBeLessThanOrEqual(1);
        }
        expect(result(game)).toBeDefined();
      }),
      { numRuns: 500 },
    );
  });

  test("count the openings", () => {
    expect([0, 1, 2, 3, 4].map((length) => openings(length).length)).toEqual([1, 9, 72, 504, 3024]);
    expect(openings(4).every((moves) => result(moves) === undefined)).toBe(true);
  });

  test("draw the board", () => {
    expect(drawBoard([5, 1, 9])).toBe("O 2 3\n4 X 6\n7 8 X");
  });
});

describe("minimax", () => {
  test("never loses against random moves, from either side, and wins immediately if it can", () => {
    fc.assert(
      fc.property(choices, fc.constantFrom(0, 1), (numbers, side) => {
        let moves: Moves = [];
        for (const choice of numbers) {
          if (result(moves) !== undefined) break;
          const free = freeCells(moves);
          const isOwn = moves.length % 2 === side;
          const own = side === 0 ? "x" : "o";
          const canWin = isOwn && free.some((cell) => result([...moves, cell]) === own);
          moves = [...moves, isOwn ? bestMove(moves) : free[choice % free.length]!];
          if (canWin) expect(result(moves)).toBe(own);
        }
        expect(result(moves)).not.toBe(side === 0 ? "o" : "x");
      }),
      { numRuns: 60 },
    );
  });
});

function play(policies: Policy | Record<string, Policy>, opening: Moves = [], retries = 1): Promise<Episode> {
  const environment = ticTacToeEnvironment({ openingMoves: opening.length, retries });
  return rolloutEpisode({ environment, task: taskEntry({ opening }, 0), policies, seed: 1 });
}

function rewards(episode: Episode): readonly unknown[] {
  return ["x", "o"].map((agent) => {
    const { reward } = episode.agents[agent]!;
    return reward.status === "scored" ? reward.value : reward;
  });
}

const replies = (...texts: string[]): Policy => {
  let turn = 0;
  return scriptedPolicy(() => texts[turn++]!);
};

test("passes the conformance suite, and openings are divided between the splits", async () => {
  for (const options of [{}, { openingMoves: 0, retries: 0 }, { openingMoves: 4, retries: 5 }]) {
    const environment = ticTacToeEnvironment(options);
    expect((await checkEnvironment(environment, { tasks: 2 })).problems).toEqual([]);
  }
  const environment = ticTacToeEnvironment({ openingMoves: 2 });
  const [train, held] = [await environment.tasks("train"), await environment.tasks("test")];
  await checkDisjoint(train, held);
  expect([train.length, held.length]).toEqual([58, 14]);
});

test("an expert draws against itself and beats a player of the first free cell", async () => {
  const environment = ticTacToeEnvironment({ openingMoves: 1 });
  for (const opening of openings(1)) {
    expect(rewards(await play(demonstrationPolicy({ environment }), opening))).toEqual([0, 0]);
  }
  const expert: Policy = scriptedPolicy(({ messages }) => String(bestMove(movesOf(JSON.stringify(messages.at(-1))))));
  const fool: Policy = scriptedPolicy(({ messages }) => String(freeCells(movesOf(JSON.stringify(messages.at(-1))))[0]));
  expect(rewards(await play({ x: expert, o: fool }))).toEqual([1, -1]);
  expect(rewards(await play({ x: fool, o: expert }))[1]).not.toBe(-1);
});

/** A game that leads to the board in a prompt. */
function movesOf(prompt: string): Moves {
  const marks = /([XO\d]) ([XO\d]) ([XO\d])\\n([XO\d]) ([XO\d]) ([XO\d])\\n([XO\d]) ([XO\d]) ([XO\d])/
    .exec(prompt)!
    .slice(1);
  const cells = (wanted: string): number[] => marks.flatMap((mark, i) => (mark === wanted ? [i + 1] : []));
  const [x, o] = [cells("X"), cells("O")];
  return x.flatMap((cell, i) => (o[i] === undefined ? [cell] : [cell, o[i]]));
}

test("only the player to move is asked, and sees the other's moves", async () => {
  const episode = await play({ x: replies("1", "cell 2", "3"), o: replies("4", "I take 5") });
  expect(rewards(episode)).toEqual([1, -1]);
  const turns = (agent: string): unknown => episode.agents[agent]!.turns.map(({ turn }) => turn);
  expect([turns("x"), turns("o")]).toEqual([
    [0, 2, 4],
    [1, 3],
  ]);
  expect(JSON.stringify(episode.agents.x!.nodes.at(-2))).toContain("X X 3\\\\nO O 6".replaceAll("\\\\", "\\"));
});

test("an invalid reply gets another try a limited number of times, and then loses", async () => {
  expect(rewards(await play({ x: replies("1", "2", "3"), o: replies("1", "4", "5") }))).toEqual([1, -1]);
  expect(rewards(await play({ x: replies("1", "2"), o: replies("1", "5", "2") }))).toEqual([1, -1]);
  expect(rewards(await play({ x: replies("0"), o: replies("1") }, [], 0))).toEqual([-1, 1]);
  expect(rewards(await play({ x: replies("none", "10"), o: replies() }))).toEqual([-1, 1]);
});

test("no fixed text draws against perfect play", async () => {
  const known = new Map<string, number>();
  const best = (moves: Moves): number => {
    const move = known.get(moves.join()) ?? bestMove(moves);
    known.set(moves.join(), move);
    return move;
  };
  const against = defineEnvironment<string, { instance: Awaited<ReturnType<typeof start>>; moves: Moves }>({
    id: "against-perfect-play",
    tasks: ["all"],
    rewardRange: [-1, 1],
    maxTurns: 20,
    reset: async () => ({ prompt: "Move.", state: { instance: await start(), moves: [] } }),
    step: async ({ state, text }) => {
      const own = await state.instance.step({ x: reply(text) });
      if (own.agents.x!.terminated) return { reward: earned(own.agents.x!.reward) };
      if (own.observations.o === undefined) return { reply: "" };
      const moves = movesOf(JSON.stringify(own.observations.o.messages));
      const other = await state.instance.step({ o: reply(String(best(moves))) });
      return other.agents.o!.terminated ? { reward: -earned(other.agents.o!.reward) } : { reply: "" };
    },
  });
  const words = ["cell", "-", ..."123456789"];
  const climbed = await climb({ environment: against, task: taskEntry("all", 0), words });
  expect(climbed.best).toBe(-1);
});

async function start() {
  const instance = await ticTacToeEnvironment({ openingMoves: 0 }).create();
  await instance.reset({ task: { opening: [] }, seed: 0 });
  return instance;
}

function reply(text: string) {
  return { message: { role: "assistant", content: [{ type: "text", text }] }, finish: "stop" } as const;
}

function earned(reward: { status: string; value?: number } | undefined): number {
  return reward?.value ?? Number.NaN;
}
