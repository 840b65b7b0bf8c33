import { describeValue } from "./describe-value.ts";
import type { ErrorData } from "./errors/index.ts";

/**
 * What an agent's action was worth. `unscored` says that the infrastructure failed to judge it (a dead worker, a
 * silent judge): such a reward leaves every baseline and mean, and never counts as 0. A failure of the candidate's
 * own output (its code times out) is scored.
 */
export type Reward = ScoredReward | UnscoredReward;

/** A reward with its value and the named parts that it was made of. */
export interface ScoredReward {
  readonly status: "scored";
  readonly value: number;
  readonly components: Readonly<Record<string, number>>;
  /** What the agent's own action made fail, each time it was tried: then the reward is the lowest there is. */
  readonly failure?: ErrorData;
}

/** A reward that could not be determined. */
export interface UnscoredReward {
  readonly status: "unscored";
  readonly reason: string;
  readonly error?: ErrorData;
}

/** A scored reward; without components, `{ reward: value }` stands for them. */
export function scored(value: number, components?: Readonly<Record<string, number>>): ScoredReward {
  return { status: "scored", value, components: components ?? { reward: value } };
}

/** An unscored reward. */
export function unscored(reason: string, error?: ErrorData): UnscoredReward {
  return { status: "unscored", reason, ...(error === undefined ? {} : { error }) };
}

/** True for what the contract calls a reward: unscored, or scored with numbers that are finite. */
export function isReward(value: Reward): boolean {
  if (value?.status === "unscored") return typeof value.reason === "string";
  if (value?.status !== "scored" || typeof value.components !== "object" || value.components === null) return false;
  return Number.isFinite(value.value) && Object.values(value.components).every(Number.isFinite);
}

/** What an environment gave as a reward, in a few words for an error. */
export function rewardText(reward: unknown): string {
  if (typeof reward !== "object" || reward === null || !("status" in reward)) return describeValue(reward);
  const { status, value, components, reason } = reward as Partial<Record<string, unknown>>;
  if (status === "unscored") return `unscored(${describeValue(reason)})`;
  if (status !== "scored" || typeof components !== "object" || components === null) return describeValue(reward);
  const parts = Object.entries(components).map(([name, part]) => `${name}: ${describeValue(part)}`);
  return `scored(${describeValue(value)}, { ${parts.join(", ")} })`;
}

/**
 * The sum of two rewards of one agent: values and components add up, and one unscored part makes the whole
 * unscored. So does a sum that is not finite.
 */
export function addRewards(first: Reward, second: Reward): Reward {
  if (first.status === "unscored") return first;
  if (second.status === "unscored") return second;
  const components = new Map(Object.entries(first.components));
  for (const [name, value] of Object.entries(second.components)) {
    components.set(name, (components.get(name) ?? 0) + value);
  }
  const failure = first.failure ?? second.failure;
  const sum: ScoredReward = {
    ...scored(first.value + second.value, Object.fromEntries(components)),
    ...(failure === undefined ? {} : { failure }),
  };
  return isReward(sum) ? sum : unscored("The rewards add up to more than a number holds.");
}
