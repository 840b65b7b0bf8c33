import type { AgentId } from "../../contract/action.ts";
import type { EnvironmentFactory } from "../../contract/environment.ts";
import type { AgentEpisode, Episode } from "../../contract/episode.ts";
import type { LyceumError } from "../../contract/errors/index.ts";
import { addRewards, isReward, type Reward, unscored } from "../../contract/reward.ts";
import { contractError, environmentFailure } from "../environment/environment-error.ts";
import { abortedError, boundedWait } from "./bounded-wait.ts";
import { callTimeout } from "./rollout-error.ts";

/**
 * Adds the rewards of the environment's `scoreGroup` to the episodes of a group. Never rejects: if the scoring fails,
 * takes longer than `limitMs` or is aborted, all episodes become unscored.
 */
export async function scoreGroup(options: GroupToScore): Promise<readonly Episode[]> {
  const rewardOf = await groupRewards(options);
  if (rewardOf === undefined) return options.episodes;
  return options.episodes.map((episode) => addAgentRewards(episode, (agent) => rewardOf(episode, agent)));
}

/** The episodes of one group, and the environment that scores them. */
export interface GroupToScore {
  readonly factory: EnvironmentFactory<never>;
  readonly episodes: readonly Episode[];
  readonly limitMs: number;
  readonly signal?: AbortSignal;
}

/** Returns the reward that `scoreGroup` adds for an agent in an episode, if any. */
export type GroupReward = (episode: Episode, agent: AgentId) => Reward | undefined;

/** Returns the rewards for {@link scoreGroup}. Returns undefined if there are none. */
export async function groupRewards(options: GroupToScore): Promise<GroupReward | undefined> {
  const { factory, episodes, limitMs } = options;
  if (factory.scoreGroup === undefined || episodes.every(({ status }) => status === "failed")) return undefined;
  const environment = factory.spec.id;
  const timeout = new AbortController();
  const signal = options.signal === undefined ? timeout.signal : AbortSignal.any([timeout.signal, options.signal]);
  try {
    if (signal.aborted) throw abortedError();
    const rewards = await boundedWait(factory.scoreGroup(episodes, { signal }), {
      ms: limitMs,
      timeout: () => callTimeout(environment, "scoreGroup", limitMs),
      signal: options.signal,
    });
    checkRewards(environment, episodes, rewards);
    return (episode, agent) => rewards[episode.id]?.[agent];
  } catch (error) {
    timeout.abort();
    const failure = environmentFailure({ environment, call: "scoreGroup", error });
    const reward = unscored(`The group could not be scored: ${failure.message}`, failure.toData());
    return () => reward;
  }
}

function checkRewards(
  environment: string,
  episodes: readonly Episode[],
  rewards: Readonly<Record<string, Readonly<Record<AgentId, Reward>>>>,
): void {
  if (typeof rewards !== "object" || rewards === null) throw broken(environment, `scored a group with ${rewards}`);
  for (const [id, agents] of Object.entries(rewards)) {
    const episode = episodes.find((candidate) => candidate.id === id);
    if (episode === undefined) throw broken(environment, `scored the unknown episode "${id}"`);
    for (const [agent, reward] of Object.entries(agents)) {
      if (!Object.hasOwn(episode.agents, agent)) throw broken(environment, `scored the unknown agent "${agent}"`);
      if (!isReward(reward)) throw broken(environment, `scored a group with ${JSON.stringify(reward)}`);
    }
  }
}

function broken(environment: string, problem: string): LyceumError {
  return contractError({
    environment,
    problem,
    rule: "scoreGroup must return finite rewards by episode id and agent, for episodes and agents of its group only.",
  });
}

/** Adds rewards to the agents of an episode. Returns a failed episode unchanged. */
export function addAgentRewards(episode: Episode, rewardOf: (agent: AgentId) => Reward | undefined): Episode {
  if (episode.status === "failed") return episode;
  const agents: Record<AgentId, AgentEpisode> = {};
  for (const [agent, record] of Object.entries(episode.agents)) {
    const reward = rewardOf(agent);
    agents[agent] = reward === undefined ? record : addReward(record, reward);
  }
  return { ...episode, agents };
}

/** Adds the reward to the agent's last action, like a reward of a step in which the agent did not act. */
function addReward(record: AgentEpisode, reward: Reward): AgentEpisode {
  const last = record.turns.at(-1);
  const turns =
    last === undefined
      ? record.turns
      : [
          ...record.turns.slice(0, -1),
          { ...last, reward: last.reward === undefined ? reward : addRewards(last.reward, reward) },
        ];
  return { ...record, turns, reward: addRewards(record.reward, reward) };
}
