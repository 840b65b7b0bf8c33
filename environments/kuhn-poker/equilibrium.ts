import type { Random } from "../../src/core/random/random.ts";
import { type Card, type Deal, type KuhnMove, legalMoves, playerToAct } from "./kuhn-rules.ts";

/**
 * Returns the probability that an optimal player bets, or calls a bet, with a card after these moves. Of the game's
 * equilibria (Kuhn 1950), this is the one in which the first player always opens with a check.
 */
export function boldness(card: Card, moves: readonly KuhnMove[]): number {
  switch (moves.join(" ")) {
    case "":
      return 0;
    case "check":
      return { J: 1 / 3, Q: 0, K: 1 }[card];
    default:
      // Against a bet, for both players.
      return { J: 0, Q: 1 / 3, K: 1 }[card];
  }
}

/** Plays a hand in which both players follow the equilibrium, with random choices from `random`. */
export function equilibriumHand(deal: Deal, random: Random): readonly KuhnMove[] {
  const moves: KuhnMove[] = [];
  for (let legal = legalMoves(moves); legal.length > 0; legal = legalMoves(moves)) {
    const isBold = random.next() < boldness(deal[playerToAct(moves)], moves);
    moves.push(legal.find((move) => (move === "bet" || move === "call") === isBold)!);
  }
  return moves;
}
