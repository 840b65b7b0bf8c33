import type { AgentId } from "../contract/action.ts";
import type { CorrectRule } from "../contract/correct-rule.ts";
import type { EnvironmentSpec } from "../contract/environment.ts";
import type { Episode } from "../contract/episode.ts";
import { environmentName } from "../core/environment/environment-name.ts";
import type { ManifestSpec } from "./log/manifest.ts";

/** The tolerance for rounding in sums of reward components, such as thirds. */
const rounding = 1e-9;

/**
 * Returns the default rule for correct episodes of an environment: its own statement, or else its highest reward. For a
 * mixture, it is the rule of each environment. Returns null if it states nothing and its rewards are unbounded.
 */
export function defaultRule(
  spec: Pick<EnvironmentSpec, "statesCorrect" | "rewardRange" | "environments">,
): CorrectRule | null {
  if (spec.environments !== undefined) {
    const rules = Object.entries(spec.environments).map(([name, inner]) => [name, defaultRule(inner)] as const);
    return rules.every(([, rule]) => rule === null) ? null : { environments: Object.fromEntries(rules) };
  }
  if (spec.statesCorrect === true) return { stated: true };
  const [, top] = spec.rewardRange;
  return Number.isFinite(top) ? { atLeast: top } : null;
}

/**
 * True if the environment, the benchmark or the user defines which episodes are correct. Otherwise the metric `accuracy`
 * is only the share of episodes with the highest reward. It is then not shown as accuracy, and the mean reward comes
 * first. Without a `spec`, every bound of the total reward counts as the highest reward.
 */
export function definesCorrect(
  rule: CorrectRule | null | undefined,
  spec?: Pick<ManifestSpec, "rewardRange">,
): boolean {
  if (rule === undefined || rule === null) return false;
  if ("environments" in rule) return Object.values(rule.environments).every((inner) => definesCorrect(inner));
  if ("stated" in rule || rule.component !== undefined) return true;
  return spec !== undefined && rule.atLeast !== spec.rewardRange[1];
}

/**
 * True if an episode is correct. Null if it is unscored or there is no rule. `evaluated` has the agents whose rewards
 * decide, all by default. Every accuracy, of an evaluation and of a training, counts episodes by this function.
 */
export function isCorrect(
  episode: Episode,
  rule: CorrectRule | null,
  evaluated?: ReadonlySet<AgentId>,
): boolean | null {
  if (rule === null || isUnscored(episode)) return null;
  if ("environments" in rule) {
    const name = environmentName(episode.task.id, Object.keys(rule.environments));
    return isCorrect(episode, name === undefined ? null : rule.environments[name]!, evaluated);
  }
  if ("stated" in rule) return episode.correct === true && episode.status !== "failed";
  const { component, atLeast } = rule;
  // Agents that never acted, such as those without a part in the task, are ignored.
  const acted = Object.entries(episode.agents).filter(
    ([agent, { turns }]) => turns.length > 0 && evaluated?.has(agent) !== false,
  );
  return (
    acted.length > 0 &&
    acted.every(([, { reward }]) => {
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
