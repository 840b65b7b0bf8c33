import type { CorrectRule } from "../contract/correct-rule.ts";
import type { EnvironmentSpec } from "../contract/environment.ts";
import type { Episode } from "../contract/episode.ts";

/** Parts of a reward, such as thirds, need not add up to the last bit. */
const rounding = 1e-9;

/**
 * The rule of correctness of an environment: what it states, else the top of its rewards. Returns null if it states
 * nothing and its rewards have no top.
 */
export function defaultRule(spec: Pick<EnvironmentSpec, "statesCorrect" | "rewardRange">): CorrectRule | null {
  if (spec.statesCorrect === true) return { stated: true };
  const [, top] = spec.rewardRange;
  return Number.isFinite(top) ? { atLeast: top } : null;
}

/**
 * True if an environment, a benchmark or a person says what is correct. Else `accuracy` is only the share of episodes at
 * the top reward, and the reward says more.
 */
export function definesCorrect(rule: CorrectRule | undefined): boolean {
  return rule !== undefined && ("stated" in rule || rule.component !== undefined);
}

/** Whether an episode counts as correct; null if it is unscored or there is no rule. */
export function isCorrect(episode: Episode, rule: CorrectRule | null): boolean | null {
  if (rule === null || isUnscored(episode)) return null;
  if ("stated" in rule) return episode.correct === true && episode.status !== "failed";
  const { component, atLeast } = rule;
  // An agent that never acted, as in a problem without a part for it, is not asked.
  const acted = Object.values(episode.agents).filter(({ turns }) => turns.length > 0);
  return (
    acted.length > 0 &&
    acted.every(({ reward }) => {
      if (reward.status === "unscored") return false;
      const value = component === undefined ? reward.value : reward.components[component];
      return value !== undefined && value >= atLeast - rounding;
    })
  );
}

/** True if the result of an episode is unknown: a reward of it is unscored. */
export function isUnscored({ agents }: Pick<Episode, "agents">): boolean {
  return Object.values(agents).some(({ reward }) => reward.status === "unscored");
}
