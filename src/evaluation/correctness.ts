import type { CorrectRule } from "../contract/correct-rule.ts";
import type { EnvironmentSpec } from "../contract/environment.ts";
import type { Episode } from "../contract/episode.ts";

/** The tolerance for rounding in sums of reward components, such as thirds. */
const rounding = 1e-9;

/**
 * Returns the default rule for correct episodes of an environment: its own statement, or else its highest reward.
 * Returns null if it states nothing and its rewards are unbounded.
 */
export function defaultRule(spec: Pick<EnvironmentSpec, "statesCorrect" | "rewardRange">): CorrectRule | null {
  if (spec.statesCorrect === true) return { stated: true };
  const [, top] = spec.rewardRange;
  return Number.isFinite(top) ? { atLeast: top } : null;
}

/**
 * True if the environment, the benchmark or the user defines which episodes are correct. Otherwise `accuracy` is only
 * the share of episodes with the highest reward, and the mean reward is more informative.
 */
export function definesCorrect(rule: CorrectRule | undefined): boolean {
  return rule !== undefined && ("stated" in rule || rule.component !== undefined);
}

/** True if an episode is correct. Null if it is unscored or there is no rule. */
export function isCorrect(episode: Episode, rule: CorrectRule | null): boolean | null {
  if (rule === null || isUnscored(episode)) return null;
  if ("stated" in rule) return episode.correct === true && episode.status !== "failed";
  const { component, atLeast } = rule;
  // Agents that never acted, such as those without a part in the task, are ignored.
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

/** True if a reward of an episode is unscored. */
export function isUnscored({ agents }: Pick<Episode, "agents">): boolean {
  return Object.values(agents).some(({ reward }) => reward.status === "unscored");
}
