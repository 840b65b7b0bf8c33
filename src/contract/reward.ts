import { describeValue } from "./describe-value.ts";
import type { ErrorData } from "./errors/index.ts";

/**
 * The reward of an agent's action. `unscored` means that the infrastructure failed to score it, such as a worker that
 * died or a judge that did not answer. Baselines and means exclude unscored rewards and never count them as 0. A
 * failure of the agent's own output, such as code that times out, is scored.
 *
 * @example
 * import { type Reward, scored, unscored } from "lyceum";
 * const rewardOf = (tests: { readonly passed: number } | undefined): Reward =>
 *   tests === undefined ? unscored("The sandbox did not answer.") : scored(tests.passed);
 * rewardOf({ passed: 0.5 }).status; // => "scored"
 * rewardOf(undefined).status; // => "unscored"
 */
export type Reward = ScoredReward | UnscoredReward;

/** A reward with a value and named components. */
export interface ScoredReward {
  readonly status: "scored";
  readonly value: number;
  readonly components: Readonly<Record<string, number>>;
  /**
   * The error that the agent's own action caused in each attempt to score it. The reward is then the lowest possible.
   */
  readonly failure?: ErrorData;
}

/** A reward that could not be determined. */
export interface UnscoredReward {
  readonly status: "unscored";
  readonly reason: string;
  readonly error?: ErrorData;
}

/**
 * Creates a scored reward. The default components are `{ reward: value }`.
 *
 * @example
 * import { scored } from "lyceum";
 * scored(0.5).components; // => { reward: 0.5 }
 * scored(0.75, { correct: 0.5, brief: 0.25 }).value; // => 0.75
 */
export function scored(value: number, components?: Readonly<Record<string, number>>): ScoredReward {
  return { status: "scored", value, components: components ?? { reward: value } };
}

/**
 * Creates an unscored reward.
 *
 * @example
 * import { unscored } from "lyceum";
 * unscored("The judge did not answer."); // => { status: "unscored", reason: "The judge did not answer." }
 */
export function unscored(reason: string, error?: ErrorData): UnscoredReward {
  return { status: "unscored", reason, ...(error === undefined ? {} : { error }) };
}

/** True if a value is a valid reward: unscored with a reason, or scored with finite numbers. */
export function isReward(value: Reward): boolean {
  if (value?.status === "unscored") return typeof value.reason === "string";
  if (value?.status !== "scored" || typeof value.components !== "object" || value.components === null) return false;
  return Number.isFinite(value.value) && Object.values(value.components).every(Number.isFinite);
}

/** Describes the value that an environment returned as a reward, for an error. */
export function rewardText(reward: unknown): string {
  if (typeof reward !== "object" || reward === null || !("status" in reward)) return describeValue(reward);
  const { status, value, components, reason } = reward as Partial<Record<string, unknown>>;
  if (status === "unscored") return `unscored(${describeValue(reason)})`;
  if (status !== "scored" || typeof components !== "object" || components === null) return describeValue(reward);
  const parts = Object.entries(components).map(([name, part]) => `${name}: ${describeValue(part)}`);
  return `scored(${describeValue(value)}, { ${parts.join(", ")} })`;
}

/**
 * Returns the sum of two rewards of an agent: of their values, and of each component. The sum is unscored if one of
 * them is unscored, or if it is not finite.
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
  return isReward(sum) ? sum : unscored("The sum of the rewards is not a finite number.");
}
