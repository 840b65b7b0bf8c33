import { debateEnvironment } from "../../../environments/debate/debate.ts";
import type { DebateOptions } from "../../../environments/debate/debate-options.ts";
import type { DebateResources } from "../../../environments/debate/debate-resources.ts";
import type { Episode } from "../../../src/contract/episode.ts";
import type { Policy } from "../../../src/contract/policy.ts";
import type { ScoredReward } from "../../../src/contract/reward.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { rolloutEpisode } from "../../../src/core/rollout/rollout-episode.ts";

/** The settings of a debate. */
export interface DebatePlay {
  readonly options?: Partial<DebateOptions>;
  readonly resources?: DebateResources;
  readonly policies?: Policy | Readonly<Record<string, Policy>>;
  readonly split?: string;
  readonly index?: number;
  readonly seed?: number;
  readonly signal?: AbortSignal;
}

/** Plays one debate. Without policies, each debater says its name and how often it has spoken. */
export async function playDebate(play: DebatePlay = {}): Promise<Episode> {
  const environment = debateEnvironment(play.options, play.resources);
  return rolloutEpisode({
    environment,
    task: await (await environment.tasks(play.split ?? environment.splits[0]!)).get(play.index ?? 0),
    policies: play.policies ?? introducer,
    seed: play.seed ?? 1,
    ...(play.signal === undefined ? {} : { signal: play.signal }),
  });
}

const introducer = scriptedPolicy(({ agent, messages }) => {
  const spoken = messages.filter(({ role }) => role === "assistant").length;
  return `I am ${agent} in round ${spoken}.`;
});

/** Returns an agent's reward and components. Throws if it is unscored. */
export function earned(episode: Episode, agent: string): number {
  return rewardOf(episode, agent).value;
}

/** Returns an agent's reward. Throws if it is unscored. */
export function rewardOf(episode: Episode, agent: string): ScoredReward {
  const { reward } = episode.agents[agent]!;
  if (reward.status === "unscored") throw new Error(reward.reason);
  return reward;
}
