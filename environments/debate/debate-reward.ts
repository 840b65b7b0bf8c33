import { type Reward, scored } from "../../src/contract/reward.ts";
import type { DebateOptions } from "./debate-options.ts";

/** A debater's own score, from 0 to 1, and the components that add up to it. */
export interface DebaterScore {
  readonly value: number;
  readonly components: Readonly<Record<string, number>>;
}

/** Returns the minimum and maximum reward of a debater. */
export function debateRange(reward: DebateOptions["reward"]): readonly [number, number] {
  return [reward === "zero-sum" ? -1 : 0, 1];
}

/**
 * Returns the reward of each debater. If the reward depends on other debaters, its components are the own score and the
 * part of the others.
 */
export function debateRewards(
  kind: DebateOptions["reward"],
  scores: ReadonlyMap<string, DebaterScore>,
): Readonly<Record<string, Reward>> {
  let total = 0;
  for (const { value } of scores.values()) total += value;
  return Object.fromEntries(
    [...scores].map(([agent, { value, components }]) => {
      if (kind === "own") return [agent, scored(value, components)];
      const others = (total - value) / (scores.size - 1);
      if (kind === "zero-sum") return [agent, scored(value - others, { own: value, others: -others })];
      return [agent, scored(total / scores.size, { team: total / scores.size })];
    }),
  );
}
