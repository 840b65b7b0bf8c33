import type { AgentEpisode, Episode } from "../contract/episode.ts";
import { replayPolicy } from "../core/policy/replay-policy.ts";
import type { EnvironmentPool } from "../core/rollout/environment-pool.ts";
import { rolloutGroup } from "../core/rollout/rollout-group.ts";
import type { Grader } from "./rescore.ts";

/**
 * Grades by an environment: the recorded actions of every agent are played in it again. An episode that goes another
 * way than it was recorded fails for want of an action, and is unscored. What a policy or the clock ended is left as it
 * was, for there is no more of it.
 */
export function environmentGrader(pool: EnvironmentPool): Grader {
  return async (episodes, { task, signal }) => {
    const played = episodes.filter(canBePlayed);
    const kept = episodes.filter((episode) => !canBePlayed(episode));
    if (played.length === 0) return kept;
    const { index, id, hash, task: content } = task;
    const members = played.map(({ member }) => member);
    const group = await rolloutGroup({
      environment: pool,
      policies: await replayPolicy(played),
      task: { index, id, hash, task: content, members } as { index: number; id: string; hash: string; task: unknown },
      groupSize: Math.max(...members) + 1,
      seed: task.seed,
      ...(signal === undefined ? {} : { signal }),
    });
    const recorded = new Map(played.map((episode) => [episode.member, episode]));
    return [...group.episodes.map((episode) => asPlayed(episode, recorded.get(episode.member)!)), ...kept];
  };
}

/** The graded episode, with the policies and the duration of the recorded one: they describe the model, not the grading. */
function asPlayed(graded: Episode, recorded: Episode): Episode {
  const agents = Object.entries(graded.agents).map(([agent, { policy: _, ...rest }]): [string, AgentEpisode] => {
    const policy = recorded.agents[agent]?.policy;
    return [agent, policy === undefined ? rest : { policy, ...rest }];
  });
  return { ...graded, agents: Object.fromEntries(agents), durationMs: recorded.durationMs };
}

function canBePlayed({ status, error, limit }: Episode): boolean {
  if (status === "failed") return error?.code.startsWith("environment.") === true;
  return limit !== "tokens" && limit !== "time";
}
