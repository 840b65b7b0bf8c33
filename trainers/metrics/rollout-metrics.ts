import type { EnvironmentDefinition, EnvironmentSpec } from "../../src/contract/environment.ts";
import type { AgentEpisode, Episode, Group } from "../../src/contract/episode.ts";
import { completionsOf } from "../../src/core/rollout/turn-completions.ts";
import { mean, standardDeviation, sum } from "../../src/core/statistics.ts";
import { isUnscored } from "../../src/evaluation/correctness.ts";
import { hasSignal as rewardsDiffer } from "../credit/trajectory.ts";
import { toolMetrics } from "./tool-metrics.ts";
import { turnMetrics } from "./turn-metrics.ts";

/** Rewards that differ by less than this are equal. The difference is a rounding error of their sum. */
const rounding = 1e-9;

/** The options of {@link rolloutMetrics}. */
interface RolloutMetricsOptions extends Pick<EnvironmentDefinition, "environmentOf"> {
  readonly rewardRange?: EnvironmentSpec["rewardRange"];
  /** The tools of the environment. In a mixture, those of a group's own environment count. */
  readonly tools?: EnvironmentSpec["tools"];
  /**
   * Returns true if a group has a signal. By default, it has one if two episodes of an agent have different rewards.
   */
  readonly hasSignal?: (group: Group, index: number) => boolean;
}

/**
 * Returns the metrics of groups: rewards over the scored episodes of all agents, shares from 0 to 1 of other outcomes,
 * lengths in tokens per completion, and the metrics of each turn (`turnMetrics`). A metric that does not apply is
 * absent. Some metrics need an explanation:
 *
 * - `entropy/sampled`: minus the mean log-probability of the sampled tokens, in nats per token. It is an unbiased
 *   estimate of the entropy of the distributions that they were drawn from.
 * - `episodes/truncated`: the share of episodes that a limit truncated. Paths that a joint shape did not continue do
 *   not count, because the policy did not cause this.
 * - `groups/without-signal`: the share of groups that have several episodes and for which `hasSignal` returns false.
 * - `groups/duplicates`: of the episodes in groups of several, the share whose actions equal those of another in the
 *   group.
 * - `groups/solved`: the share of groups in which no higher reward was possible: every agent of every scored episode
 * has the top of `rewardRange`. Needs a `rewardRange` with a finite top. In a mixture (with `environmentOf`), the range
 * is that of the group's own environment. A path that a joint shape did not continue must have, at its last turn, as
 * much reward as the best path of its group at that turn. If the shape continued no path, their mean exceeded the
 * threshold that ends a branch.
 *
 * If joint actions branch, the episodes are the paths from the root. `reward/mean` is over all paths. A path that was
 * not continued counts with its reward until then.
 */
export function rolloutMetrics(
  groups: readonly Group[],
  { rewardRange, tools = [], environmentOf, hasSignal = rewardsDiffer }: RolloutMetricsOptions = {},
): Record<string, number> {
  const episodes = groups.flatMap((group) => group.episodes);
  const agents = episodes.flatMap((episode) => Object.values(episode.agents));
  const rewards = scoredRewards(episodes);
  const completions = agents.flatMap((agent) => agent.turns.flatMap((turn) => completionsOf(agent, turn)));
  const sampled = completions.flatMap(({ tokens }) => (tokens?.mask === 1 ? [tokens] : []));
  const lengths = sampled.map(({ ids }) => ids.length);
  const top = rewardRange?.[1] ?? Number.POSITIVE_INFINITY;
  const topOf = ({ task }: Group): number => environmentOf?.(task.id)?.spec.rewardRange[1] ?? top;
  const hasTools = ({ task }: Episode): boolean => (environmentOf?.(task.id)?.spec.tools ?? tools).length > 0;
  const entries: Record<string, number> = {
    "reward/mean": mean(rewards),
    "reward/std": rewards.length === 0 ? Number.NaN : standardDeviation(rewards),
    ...componentMeans(agents),
    "episodes/count": episodes.length,
    "episodes/unscored": share(episodes, isUnscored),
    "episodes/failed": share(episodes, ({ status }) => status === "failed"),
    "episodes/caused-failure": share(episodes, hasCausedFailure),
    "episodes/truncated": share(episodes, isTruncated),
    "groups/without-signal": share(groups, (group, index) => group.episodes.length > 1 && !hasSignal(group, index)),
    "groups/duplicates": duplicateShare(groups),
    "groups/solved": Number.isFinite(top) ? share(groups, (group) => isSolved(group, topOf(group))) : Number.NaN,
    "entropy/sampled": -mean(sampled.flatMap(({ logprobs = [] }) => logprobs)),
    ...turnMetrics(episodes),
    ...toolMetrics(episodes, hasTools),
    "turns/mean": mean(episodes.map((episode) => episode.turns)),
    "length/completion-mean": mean(lengths),
    "length/completion-max": lengths.length === 0 ? Number.NaN : Math.max(...lengths),
    "length/cut-off": share(completions, ({ finish }) => finish === "length"),
    "tokens/sampled": sum(lengths),
  };
  return Object.fromEntries(Object.entries(entries).filter(([, value]) => Number.isFinite(value)));
}

/** Removes the metrics that do not apply to demonstrations: rewards are the expert's, and no token was sampled. */
export function withoutPolicyMetrics(metrics: Readonly<Record<string, number>>): Record<string, number> {
  const ofPolicy = [
    "reward/",
    "entropy/",
    "rollout/",
    "groups/duplicates",
    "groups/solved",
    "tokens/sampled",
    "tools/",
  ];
  return Object.fromEntries(
    Object.entries(metrics).filter(([name]) => !ofPolicy.some((beginning) => name.startsWith(beginning))),
  );
}

/** Returns true if an agent's action made the environment or a criterion fail. Such an action has the lowest reward. */
function hasCausedFailure({ agents }: Episode): boolean {
  return Object.values(agents).some(({ reward }) => reward.status === "scored" && reward.failure !== undefined);
}

/**
 * Returns a warning about unscored episodes: how many there are, what becomes of them, and the reason of the first.
 * Returns undefined if there are none.
 */
export function unscoredWarning(
  groups: readonly Group[],
  { learnsFrom }: { readonly learnsFrom?: string },
): string | undefined {
  const episodes = groups.flatMap((group) => group.episodes);
  const unscored = episodes.filter(isUnscored);
  const first = unscored
    .flatMap((episode) => Object.values(episode.agents))
    .find((agent) => agent.reward.status === "unscored");
  if (first?.reward.status !== "unscored") return undefined;
  const counted = `${unscored.length} of ${episodes.length} episodes are unscored`;
  const fate =
    learnsFrom === "demonstrations" ? ". Demonstrations are learnt without a score too" : " and were left out";
  return `${counted}${fate}. Reason of the first: ${first.reward.reason}`;
}

function isTruncated(episode: Episode): boolean {
  if (isDiscontinued(episode)) return false;
  return episode.status === "truncated" || Object.values(episode.agents).some(({ truncated }) => truncated);
}

/** Returns true if a joint shape did not continue the path. */
function isDiscontinued({ limit }: Episode): boolean {
  return limit === "shape";
}

function isSolved({ episodes }: Group, top: number): boolean {
  const discontinued = episodes.filter(isDiscontinued);
  const ended = episodes.filter((episode) => !isDiscontinued(episode));
  if (scoredRewards(ended.length > 0 ? ended : discontinued).length === 0) return false;
  return (
    scoredRewards(ended).every((reward) => reward >= top - rounding) &&
    discontinued.every((one) => isBest(one, episodes))
  );
}

/** Returns the scored rewards of all agents of all episodes. */
export function scoredRewards(episodes: readonly Episode[]): number[] {
  return episodes
    .flatMap(({ agents }) => Object.values(agents))
    .flatMap(({ reward }) => (reward.status === "scored" ? [reward.value] : []));
}

/**
 * Returns true if no path had more reward than this one at the turn in which it ended, for all agents that are scored.
 */
function isBest(one: Episode, all: readonly Episode[]): boolean {
  return Object.entries(one.agents).every(([agent, { reward }]) => {
    if (reward.status === "unscored") return true;
    const most = Math.max(...all.map(({ agents }) => earnedBy(agents[agent]!, one.turns)));
    return earnedBy(one.agents[agent]!, one.turns) >= most - rounding;
  });
}

/** Returns the sum of an agent's rewards before a turn. */
function earnedBy({ turns }: AgentEpisode, before: number): number {
  return turns.reduce(
    (sum, { turn, reward }) => (turn < before && reward?.status === "scored" ? sum + reward.value : sum),
    0,
  );
}

/** Returns, of the episodes with actions in groups of several, the share that equals another. NaN if there are none. */
function duplicateShare(groups: readonly Group[]): number {
  const counts = groups.flatMap(({ episodes }) => {
    const texts = episodes.map(actionsText).filter((text) => text !== "");
    return texts.length < 2 ? [] : [...Map.groupBy(texts, (text) => text).values()].map(({ length }) => length);
  });
  return sum(counts.filter((count) => count > 1)) / sum(counts);
}

/** Returns all actions of an episode as a text, or an empty text if there are none. */
function actionsText({ agents }: Episode): string {
  const actions = Object.entries(agents).flatMap(([name, { turns, nodes }]) =>
    turns.flatMap(({ node, calls = [] }) =>
      [...calls.map(({ answer }) => answer), nodes[node]!.message].map(({ content, toolCalls = [] }) => [
        name,
        content,
        toolCalls.map((call) => [call.name, call.arguments]),
      ]),
    ),
  );
  return actions.length === 0 ? "" : JSON.stringify(actions);
}

function componentMeans(agents: readonly AgentEpisode[]): Record<string, number> {
  const values = new Map<string, number[]>();
  for (const { reward } of agents) {
    if (reward.status !== "scored") continue;
    for (const [name, value] of Object.entries(reward.components)) {
      const list = values.get(name) ?? [];
      list.push(value);
      values.set(name, list);
    }
  }
  values.delete("reward");
  return Object.fromEntries([...values].map(([name, list]) => [`reward/component/${name}`, mean(list)]));
}

function share<T>(items: readonly T[], predicate: (item: T, index: number) => boolean): number {
  return items.filter(predicate).length / items.length;
}
