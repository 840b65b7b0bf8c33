/** A card: the higher one wins at the showdown, K over Q over J. */
export type Card = "J" | "Q" | "K";

/** Who plays: `first` acts first. Both have put one chip into the pot. */
export type Seat = "first" | "second";

/** The cards of a hand. */
export type Deal = Readonly<Record<Seat, Card>>;

/** What may be done: `check` or `bet` a chip; against a bet, `call` it or `fold`. */
export type KuhnMove = "check" | "bet" | "call" | "fold";

const order: readonly Card[] = ["J", "Q", "K"];

/** The six hands that can be dealt, each as likely as any other. */
export const deals: readonly Deal[] = order.flatMap((first) =>
  order.filter((card) => card !== first).map((second) => ({ first, second })),
);

/** What the seat to move may do after these moves; none where the hand is over. */
export function legalMoves(moves: readonly KuhnMove[]): readonly KuhnMove[] {
  const last = moves.at(-1);
  if (last === "bet") return ["call", "fold"];
  return last === undefined || (last === "check" && moves.length === 1) ? ["check", "bet"] : [];
}

/** Whose turn it is while the hand goes on. */
export function seatToMove(moves: readonly KuhnMove[]): Seat {
  return moves.length % 2 === 0 ? "first" : "second";
}

/** The chips that the first seat wins from the second (below 0: loses to it) in a hand that is over. */
export function winnings(deal: Deal, moves: readonly KuhnMove[]): number {
  const last = moves.at(-1);
  // Who folds made the last move, and loses the chip of the start.
  if (last === "fold") return moves.length % 2 === 1 ? -1 : 1;
  const stake = last === "call" ? 2 : 1;
  return order.indexOf(deal.first) > order.indexOf(deal.second) ? stake : -stake;
}
