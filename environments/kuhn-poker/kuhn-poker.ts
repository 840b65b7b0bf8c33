import { z } from "zod";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { defineParallelEnvironment, type Prompts } from "../../src/core/environment/define-parallel-environment.ts";
import { defineEnvironmentEntry, parseEnvironmentOptions } from "../../src/core/environment/registry.ts";
import { createRandom, deriveSeed } from "../../src/core/random/random.ts";
import { generatedTaskset } from "../../src/core/taskset/generated-taskset.ts";
import { equilibriumHand } from "./equilibrium.ts";
import { type Deal, deals, type KuhnMove, type KuhnPlayer, legalMoves, playerToAct, winnings } from "./kuhn-rules.ts";

/** The options of the Kuhn poker environment. The schema describes each one. */
export type KuhnPokerOptions = Readonly<z.output<typeof schema>>;

/** A hand. Each agent sees only its own card. */
export interface KuhnPokerTask {
  readonly deal: Deal;
  /** The seed of the demonstration's random choices. */
  readonly chance: number;
}

interface Hand {
  readonly moves: readonly KuhnMove[];
  /** The number of invalid replies of each player. */
  readonly refused: Readonly<Record<KuhnPlayer, number>>;
}

const schema = z.strictObject({
  retries: z
    .int()
    .min(0)
    .max(5)
    .default(1)
    .describe("The number of invalid replies that a player may give. The next one loses the game."),
  seed: z.int().min(0).default(0).describe("The seed of the dealt hands."),
});

const description = "Kuhn poker in self-play: three cards, one bet. One player wins what the other loses.";

/**
 * Creates the Kuhn poker environment with the agents `first` and `second`. Only the agent to move is asked, and each
 * sees only its own card. Rewards are chips won or lost, from -2 to 2. The seed determines the hands. `train` is
 * unbounded and `test` has 120 hands.
 */
export function kuhnPokerEnvironment(options: Partial<KuhnPokerOptions> = {}): EnvironmentDefinition<KuhnPokerTask> {
  const { retries, seed } = parseEnvironmentOptions("kuhn-poker", schema, options);
  return defineParallelEnvironment<KuhnPlayer, KuhnPokerTask, Hand>({
    id: "kuhn-poker",
    description,
    agents: ["first", "second"],
    tasks: (split) => {
      const isTest = split === "test";
      return generatedTaskset<KuhnPokerTask>({
        name: `kuhn-poker/${split}`,
        seed: deriveSeed(seed, split),
        length: isTest ? 120 : "unbounded",
        // Seeds are even in `train` and odd in `test`, so the splits share no task.
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
      const player = playerToAct(moves);
      const legal = legalMoves(moves);
      const move = readMove(texts[player]);
      if (move === undefined || !legal.includes(move)) {
        if (refused[player] === retries) return { rewards: rewardsOf(player === "first" ? -2 : 2) };
        return {
          replies: { [player]: `That is no move. End your reply with ${legal.join(" or ")}.` },
          state: { moves, refused: { ...refused, [player]: refused[player] + 1 } },
        };
      }
      const next = [...moves, move];
      return legalMoves(next).length === 0
        ? { rewards: rewardsOf(winnings(deal, next)) }
        : { replies: ask(deal, next), state: { moves: next, refused } };
    },
    demonstrate: ({ deal, chance }) =>
      equilibriumHand(deal, createRandom(chance)).map((move, turn, hand) => ({
        [playerToAct(hand.slice(0, turn))]: move,
      })),
  });
}

/** Returns the prompt of the player to move, with its card and the earlier moves. */
function ask(deal: Deal, moves: readonly KuhnMove[]): Prompts<KuhnPlayer> {
  const player = playerToAct(moves);
  const history = moves.map((move, i) => ` ${i % 2 === moves.length % 2 ? "You" : "The other player"} chose ${move}.`);
  const text =
    "Kuhn poker: three cards, J below Q below K, one for you and one for the other player. Each of you has put one " +
    "chip into the pot. A bet is one chip more; whoever folds loses the pot, else the higher card wins it.\n\n" +
    `Your card is ${deal[player]}.${history.join("")}\n\n` +
    `The last word of your reply is your move: ${legalMoves(moves).join(" or ")}.`;
  return { [player]: text };
}

function rewardsOf(chips: number): Readonly<Record<KuhnPlayer, number>> {
  return { first: chips, second: -chips };
}

/** Returns the last word of a reply, if it is a move. */
function readMove(text: string): KuhnMove | undefined {
  const last = text
    .match(/[a-z]+/gi)
    ?.at(-1)
    ?.toLowerCase();
  return (["check", "bet", "call", "fold"] as const).find((move) => move === last);
}

/** The registry entry of the Kuhn poker environment. */
export const kuhnPokerEntry = defineEnvironmentEntry({
  id: "kuhn-poker",
  description,
  options: schema,
  create: kuhnPokerEnvironment,
});
