import type { AgentId } from "../../contract/action.ts";
import type { EnvironmentFactory } from "../../contract/environment.ts";
import type { AgentEpisode, Episode } from "../../contract/episode.ts";
import type { LyceumError } from "../../contract/errors/index.ts";
import { addRewards, isReward, type Reward, unscored } from "../../contract/reward.ts";
import { contractError, environmentFailure } from "../environment/environment-error.ts";
import { abortedError, boundedWait } from "./bounded-wait.ts";
import { callTimeout } from "./rollout-error.ts";

/**
 * The episodes of a group with the rewards of the environment's `scoreGroup` added to what they earned. Never
 * rejects: when scoring fails, takes longer than `limitMs` or is aborted, every episode becomes unscored.
 */
export async function scoreGroup(options: GroupToScore): Promise<readonly Episode[]> {
  const rewardOf = await groupRewards(options);
  if (rewardOf === undefined) return options.episodes;
  return options.episodes.map((episode) => addAgentRewards(episode, (agent) => rewardOf(episode, agent)));
}

/** Episodes of one group, and what is to score them. */
export interface GroupToScore {
  readonly factory: EnvironmentFactory<never>;
  readonly episodes: readonly Episode[];
  readonly limitMs: number;
  readonly signal?: AbortSignal;
}

/** What `scoreGroup` adds to the reward of an agent in an episode of the group, if anything. */
export type GroupReward = (episode: Episode, agent: AgentId) => Reward | undefined;

/** The rewards behind {@link scoreGroup}; undefined where there are none to add. */
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
      ...(options.signal === undefined ? {} : { signal: options.signal }),
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
    rule: "scoreGroup gives finite rewards by episode id and agent, for episodes and agents of its group only.",
  });
}

/** The episode with these added to what its agents earned. One that failed stays as it is. */
export function addAgentRewards(episode: Episode, rewardOf: (agent: AgentId) => Reward | undefined): Episode {
  if (episode.status === "failed") return episode;
  const agents: Record<AgentId, AgentEpisode> = {};
  for (const [agent, record] of Object.entries(episode.agents)) {
    const reward = rewardOf(agent);
    agents[agent] = reward === undefined ? record : addReward(record, reward);
  }
  return { ...episode, agents };
}

/** The reward joins the agent's last action, as one of a step in which the agent did not act would. */
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
