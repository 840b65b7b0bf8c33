import type { EnvironmentDefinition, EnvironmentSpec } from "../src/contract/environment.ts";
import type { AgentEpisode, Episode, Group } from "../src/contract/episode.ts";
import { hasSignal as rewardsDiffer } from "./credit/trajectory.ts";
import { mean, standardDeviation } from "./statistics.ts";
import { turnMetrics } from "./turn-metrics.ts";

/** Rewards that differ by less are the same but for how they were added up. */
const rounding = 1e-9;

/** What {@link rolloutMetrics} may be told of what was played. */
interface RolloutMetricsOptions extends Pick<EnvironmentDefinition, "partOf"> {
  readonly rewardRange?: EnvironmentSpec["rewardRange"];
  /** Whether anything can be learnt from a group; by default, where two episodes of an agent earned different rewards. */
  readonly hasSignal?: (group: Group, index: number) => boolean;
}

/**
 * Metrics of played groups: rewards over scored episodes (of every agent), shares from 0 to 1 of what went otherwise,
 * lengths in tokens per action, and turn by turn what {@link turnMetrics} finds. A metric that does not exist here is
 * absent. Some need a word:
 *
 * - `entropy/sampled`: minus the mean log-probability of the sampled tokens, in nats per token: an unbiased estimate of
 *   the entropy of the distributions that they were drawn from;
 * - `episodes/truncated`: the share that a limit cut off. What a joint shape did not go on with was cut off by nothing that
 *   the policy did, and does not count;
 * - `groups/without-signal`: the share of groups of several episodes that are without what `hasSignal` looks for;
 * - `groups/duplicates`: of the episodes in groups of several, the share whose actions are those of another of its group;
 * - `groups/solved`: the share of groups in which nobody could have earned more: every agent of every scored episode earned
 *   the top of `rewardRange`. It needs one, with an end at the top; in a mixture whose `partOf` is given, each group's is
 *   that of its own environment. A path that a joint shape did not go on with must have earned, until then, what the best
 *   path of its group had by that turn; where it went on with none, their mean exceeded the threshold that ends a branch.
 *
 * Where joint actions branch, the episodes are the paths from the root, and `reward/mean` is over all of them: of what the
 * shape did not go on with, over what it had earned.
 */
export function rolloutMetrics(
  groups: readonly Group[],
  { rewardRange, partOf, hasSignal = rewardsDiffer }: RolloutMetricsOptions = {},
): Record<string, number> {
  const episodes = groups.flatMap((group) => group.episodes);
  const agents = episodes.flatMap((episode) => Object.values(episode.agents));
  const rewards = scoredRewards(episodes);
  const turns = agents.flatMap((agent) => agent.turns.map((turn) => ({ turn, node: agent.nodes[turn.node]! })));
  const sampled = turns.flatMap(({ node }) => (node.tokens?.mask === 1 ? [node.tokens] : []));
  const lengths = sampled.map(({ ids }) => ids.length);
  const top = rewardRange?.[1] ?? Number.POSITIVE_INFINITY;
  const topOf = ({ task }: Group): number => partOf?.(task.id)?.spec.rewardRange[1] ?? top;
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
    "turns/mean": mean(episodes.map((episode) => episode.turns)),
    "length/completion-mean": mean(lengths),
    "length/completion-max": lengths.length === 0 ? Number.NaN : Math.max(...lengths),
    "length/cut-off": share(turns, ({ turn }) => turn.finish === "length"),
    "tokens/sampled": lengths.reduce((sum, length) => sum + length, 0),
  };
  return Object.fromEntries(Object.entries(entries).filter(([, value]) => Number.isFinite(value)));
}

/** The metrics of demonstrations: their rewards are the expert's and not the model's, and no token was sampled. */
export function withoutPolicyMetrics(metrics: Readonly<Record<string, number>>): Record<string, number> {
  const ofPolicy = ["reward/", "entropy/", "rollout/", "groups/duplicates", "groups/solved", "tokens/sampled"];
  return Object.fromEntries(
    Object.entries(metrics).filter(([name]) => !ofPolicy.some((beginning) => name.startsWith(beginning))),
  );
}

/** True if what an agent sent made its environment or a criterion fail, which earns the lowest reward. */
function hasCausedFailure({ agents }: Episode): boolean {
  return Object.values(agents).some(({ reward }) => reward.status === "scored" && reward.failure !== undefined);
}

/** True where the reward of any agent could not be determined. */
export function isUnscored(episode: Episode): boolean {
  return Object.values(episode.agents).some(({ reward }) => reward.status === "unscored");
}

/** What to tell a person of unscored episodes: how many, and why the first is one. Undefined where there are none. */
export function unscoredWarning(groups: readonly Group[]): string | undefined {
  const episodes = groups.flatMap((group) => group.episodes);
  const unscored = episodes.filter(isUnscored);
  const first = unscored
    .flatMap((episode) => Object.values(episode.agents))
    .find((agent) => agent.reward.status === "unscored");
  if (first?.reward.status !== "unscored") return undefined;
  return `${unscored.length} of ${episodes.length} episodes are unscored and were left out: ${first.reward.reason}`;
}

function isTruncated(episode: Episode): boolean {
  if (isLeft(episode)) return false;
  return episode.status === "truncated" || Object.values(episode.agents).some(({ truncated }) => truncated);
}

/** True where a joint shape did not go on with it. */
function isLeft({ limit }: Episode): boolean {
  return limit === "shape";
}

function isSolved({ episodes }: Group, top: number): boolean {
  const left = episodes.filter(isLeft);
  const ended = episodes.filter((episode) => !isLeft(episode));
  if (scoredRewards(ended.length > 0 ? ended : left).length === 0) return false;
  return scoredRewards(ended).every((reward) => reward >= top - rounding) && left.every((one) => isBest(one, episodes));
}

/** Of every agent of every episode, where it is scored. */
function scoredRewards(episodes: readonly Episode[]): number[] {
  return episodes
    .flatMap(({ agents }) => Object.values(agents))
    .flatMap(({ reward }) => (reward.status === "scored" ? [reward.value] : []));
}

/** True where no path had earned more than this one by the turn at which it ended, of those agents that are scored. */
function isBest(one: Episode, all: readonly Episode[]): boolean {
  return Object.entries(one.agents).every(([agent, { reward }]) => {
    if (reward.status === "unscored") return true;
    const most = Math.max(...all.map(({ agents }) => earnedBy(agents[agent]!, one.turns)));
    return earnedBy(one.agents[agent]!, one.turns) >= most - rounding;
  });
}

/** What an agent had earned before a turn. */
function earnedBy({ turns }: AgentEpisode, before: number): number {
  return turns.reduce(
    (sum, { turn, reward }) => (turn < before && reward?.status === "scored" ? sum + reward.value : sum),
    0,
  );
}

/** Of the episodes in groups of several in which anybody acted, the share that has a double; NaN of none. */
function duplicateShare(groups: readonly Group[]): number {
  const counts = groups.flatMap(({ episodes }) => {
    const texts = episodes.map(actionsText).filter((text) => text !== "");
    return texts.length < 2 ? [] : [...Map.groupBy(texts, (text) => text).values()].map(({ length }) => length);
  });
  const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
  return sum(counts.filter((count) => count > 1)) / sum(counts);
}

/** All that the agents of an episode did, as a text; empty where nobody acted. */
function actionsText({ agents }: Episode): string {
  const actions = Object.entries(agents).flatMap(([name, { turns, nodes }]) =>
    turns.map(({ node }) => {
      const { content, toolCalls = [] } = nodes[node]!.message;
      return [name, content, toolCalls.map((call) => [call.name, call.arguments])];
    }),
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

function share<T>(items: readonly T[], holds: (item: T, index: number) => boolean): number {
  return items.filter(holds).length / items.length;
}
