import { z } from "zod";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { defineParallelEnvironment, type Prompts } from "../../src/core/environment/define-parallel-environment.ts";
import { type EnvironmentEntry, parseEnvironmentOptions } from "../../src/core/environment/registry.ts";
import { createRandom, deriveSeed } from "../../src/core/random/random.ts";
import { generatedTaskset } from "../../src/core/taskset/generated-taskset.ts";
import { equilibriumHand } from "./equilibrium.ts";
import { type Deal, deals, type KuhnMove, legalMoves, type Seat, seatToMove, winnings } from "./kuhn-rules.ts";

/** What the Kuhn poker environment is made from; the schema says what each option means. */
export interface KuhnPokerOptions {
  readonly retries: number;
  readonly seed: number;
}

/** A hand. Each agent is told its own card only. */
export interface KuhnPokerTask {
  readonly deal: Deal;
  /** Where the demonstration takes its chances from. */
  readonly chance: number;
}

interface Hand {
  readonly moves: readonly KuhnMove[];
  /** Replies that were no move, of each seat. */
  readonly refused: Readonly<Record<Seat, number>>;
}

const schema = z.strictObject({
  retries: z
    .int()
    .min(0)
    .max(5)
    .default(1)
    .describe("Replies that are no move a player may give before losing by one."),
  seed: z.int().min(0).default(0).describe("Another seed deals other hands."),
});

const description = "Kuhn poker in self-play: three cards, one bet; what one player wins the other loses.";

/**
 * The Kuhn poker environment: the agents `first` and `second`, of whom only the one to move is asked, and each of whom
 * sees its own card alone. Rewards are chips won or lost, from -2 to 2. Hands are dealt by seed: without end to train on, 120
 * to test with.
 */
export function kuhnPokerEnvironment(options: Partial<KuhnPokerOptions> = {}): EnvironmentDefinition<KuhnPokerTask> {
  const { retries, seed } = parseEnvironmentOptions("kuhn-poker", schema, options);
  return defineParallelEnvironment<Seat, KuhnPokerTask, Hand>({
    id: "kuhn-poker",
    description,
    agents: ["first", "second"],
    tasks: (split) => {
      const isTest = split === "test";
      return generatedTaskset<KuhnPokerTask>({
        name: `kuhn-poker/${split}`,
        seed: deriveSeed(seed, split),
        length: isTest ? 120 : "unbounded",
        // Even chances to train on and odd ones to test with: no task is in both.
        generate: (random) => ({ deal: random.pick(deals), chance: 2 * random.integer(0, 2 ** 31) + (isTest ? 1 : 0) }),
      });
    },
    maxTurns: 3 + 2 * retries,
    rewardRange: [-2, 2],
    reset: ({ task: { deal } }) => ({
      prompts: ask(deal, []),
      state: { moves: [], refused: { first: 0, second: 0 } },
    }),
    step: ({ task: { deal }, state: { moves, refused }, texts }) => {
      const seat = seatToMove(moves);
      const legal = legalMoves(moves);
      const move = readMove(texts[seat]);
      if (move === undefined || !legal.includes(move)) {
        if (refused[seat] === retries) return { rewards: rewardsOf(seat === "first" ? -2 : 2) };
        return {
          replies: { [seat]: `That is no move. End your reply with ${legal.join(" or ")}.` },
          state: { moves, refused: { ...refused, [seat]: refused[seat] + 1 } },
        };
      }
      const next = [...moves, move];
      return legalMoves(next).length === 0
        ? { rewards: rewardsOf(winnings(deal, next)) }
        : { replies: ask(deal, next), state: { moves: next, refused } };
    },
    demonstrate: ({ deal, chance }) =>
      equilibriumHand(deal, createRandom(chance)).map((move, turn, hand) => ({
        [seatToMove(hand.slice(0, turn))]: move,
      })),
  });
}

/** Tells the seat that is to move its card and what was done before, and the other nothing. */
function ask(deal: Deal, moves: readonly KuhnMove[]): Prompts<Seat> {
  const seat = seatToMove(moves);
  const told = moves.map((move, i) => ` ${i % 2 === moves.length % 2 ? "You" : "The other player"} chose ${move}.`);
  const text =
    "Kuhn poker: three cards, J below Q below K, one for you and one for the other player. Each of you has put one " +
    "chip into the pot. A bet is one chip more; whoever folds loses the pot, else the higher card wins it.\n\n" +
    `Your card is ${deal[seat]}.${told.join("")}\n\n` +
    `The last word of your reply is your move: ${legalMoves(moves).join(" or ")}.`;
  return { [seat]: text };
}

function rewardsOf(chips: number): Readonly<Record<Seat, number>> {
  return { first: chips, second: -chips };
}

/** The last word of a reply, where it names a move. */
function readMove(text: string): KuhnMove | undefined {
  const last = text
    .match(/[a-z]+/gi)
    ?.at(-1)
    ?.toLowerCase();
  return (["check", "bet", "call", "fold"] as const).find((move) => move === last);
}

/** The registry's entry of the Kuhn poker environment. */
export const kuhnPokerEntry: EnvironmentEntry = {
  id: "kuhn-poker",
  description,
  options: schema,
  create: kuhnPokerEnvironment,
};
