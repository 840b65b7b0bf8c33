import { LyceumError } from "../../contract/errors/index.ts";
import { withoutUndefined } from "../without-undefined.ts";

/** The limits of a rollout. Times are in milliseconds. `Infinity` removes a limit. */
export interface RolloutLimits {
  /** The maximum number of steps of an episode, if the environment's `maxTurns` is larger. Truncates the episode. */
  readonly turns: number;
  /** The maximum number of tokens that one agent samples in an episode. Truncates the episode. */
  readonly tokens: number;
  /** The maximum duration of an episode. Truncates the episode. */
  readonly episodeMs: number;
  /** The maximum duration of one call of the environment: create, reset, step, fork, scoreGroup. Fails the episode. */
  readonly environmentMs: number;
  /** The maximum duration of one action, without the time until its batch starts. Fails the episode. */
  readonly actMs: number;
}

/** The default limits. */
export const defaultRolloutLimits: RolloutLimits = {
  turns: Infinity,
  tokens: Infinity,
  episodeMs: Infinity,
  environmentMs: 300_000,
  actMs: 3_600_000,
};

/** The longest delay of a Node timer: 2^31 - 1 ms, about 25 days. */
const longestTimer = 2_147_483_647;

/** Like `setTimeout`, but returns undefined if the delay is infinite or too long for Node. */
export function startTimer(ms: number, callback: () => void): NodeJS.Timeout | undefined {
  return ms > longestTimer ? undefined : setTimeout(callback, ms);
}

/** Returns the default limits with the given ones. Throws `config.invalid` if a limit is not positive. */
export function resolveLimits(given: Partial<RolloutLimits> = {}): RolloutLimits {
  const limits = withoutUndefined(given);
  for (const [name, value] of Object.entries(limits)) {
    if (typeof value === "number" && value > 0) continue;
    throw new LyceumError({
      code: "config.invalid",
      message: `The rollout limit ${name} must be above 0, got ${value}.`,
      hint: "Pass Infinity to remove a limit, or omit it for the default.",
    });
  }
  return { ...defaultRolloutLimits, ...limits };
}
