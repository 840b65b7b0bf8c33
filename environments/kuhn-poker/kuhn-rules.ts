/** A card. The higher one wins at the showdown: K beats Q, and Q beats J. */
export type Card = "J" | "Q" | "K";

/** A player. `first` moves first. Both have put one chip into the pot. */
export type KuhnPlayer = "first" | "second";

/** The cards of a hand. */
export type Deal = Readonly<Record<KuhnPlayer, Card>>;

/** A move: `check`, or `bet` a chip; against a bet, `call` it or `fold`. */
export type KuhnMove = "check" | "bet" | "call" | "fold";

const order: readonly Card[] = ["J", "Q", "K"];

/** The six possible hands, all equally likely. */
export const deals: readonly Deal[] = order.flatMap((first) =>
  order.filter((card) => card !== first).map((second) => ({ first, second })),
);

/** Returns the legal moves of the player to move, or an empty array if the hand is over. */
export function legalMoves(moves: readonly KuhnMove[]): readonly KuhnMove[] {
  const last = moves.at(-1);
  if (last === "bet") return ["call", "fold"];
  return last === undefined || (last === "check" && moves.length === 1) ? ["check", "bet"] : [];
}

/** Returns the player to move in a hand that is not over. */
export function playerToAct(moves: readonly KuhnMove[]): KuhnPlayer {
  return moves.length % 2 === 0 ? "first" : "second";
}

/** Returns the chips that the first player wins from the second in a finished hand. Negative if it loses. */
export function winnings(deal: Deal, moves: readonly KuhnMove[]): number {
  const last = moves.at(-1);
  // The player who folds made the last move and loses the initial chip.
  if (last === "fold") return moves.length % 2 === 1 ? -1 : 1;
  const stake = last === "call" ? 2 : 1;
  return order.indexOf(deal.first) > order.indexOf(deal.second) ? stake : -stake;
}
