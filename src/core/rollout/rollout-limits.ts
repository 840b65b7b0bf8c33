import { LyceumError } from "../../contract/errors/index.ts";

/** What bounds a rollout, so that every wait ends. Times are in milliseconds; `Infinity` lifts a limit. */
export interface RolloutLimits {
  /** The most steps of an episode, where the environment's own `maxTurns` is greater. Truncates. */
  readonly turns: number;
  /** The most tokens that one agent samples in an episode. Truncates. */
  readonly tokens: number;
  /** The time of a whole episode. Truncates. */
  readonly episodeMs: number;
  /** The time of one call of the environment: create, reset, step, scoring a group. Fails the episode. */
  readonly environmentMs: number;
  /** The time of one action, without the wait for its batch to be composed. Fails the episode. */
  readonly actMs: number;
}

/** The limits used where none are given. */
export const defaultRolloutLimits: RolloutLimits = {
  turns: Infinity,
  tokens: Infinity,
  episodeMs: Infinity,
  environmentMs: 300_000,
  actMs: 3_600_000,
};

/** The longest delay that a Node timer can have: 2^31 - 1 ms, about 25 days. */
const longestTimer = 2_147_483_647;

/** A timer that is none for a time without end. */
export function startTimer(ms: number, callback: () => void): NodeJS.Timeout | undefined {
  return ms > longestTimer ? undefined : setTimeout(callback, ms);
}

/** The given limits over the default ones. Throws `config.invalid` for one that is not above 0. */
export function resolveLimits(limits: Partial<RolloutLimits> = {}): RolloutLimits {
  for (const [name, value] of Object.entries(limits)) {
    if (typeof value === "number" && value > 0) continue;
    throw new LyceumError({
      code: "config.invalid",
      message: `The rollout limit ${name} must be above 0, got ${value}.`,
      hint: "Leave a limit out, or give Infinity, to lift it.",
    });
  }
  return { ...defaultRolloutLimits, ...limits };
}
