import type { AgentEpisode, Episode } from "../src/contract/episode.ts";
import { replayPolicy } from "../src/core/policy/replay-policy.ts";
import type { EnvironmentPool } from "../src/core/rollout/environment-pool.ts";
import { rolloutGroup } from "../src/core/rollout/rollout-group.ts";
import type { Grader } from "../src/evaluation/rescore.ts";

/**
 * Creates a grader that scores episodes by an environment. It replays the recorded actions of all agents. An episode
 * that takes another course than the recorded one has no action at some turn, so it fails and is unscored. Episodes
 * that a failed policy, a token limit or a time limit ended stay unchanged, because their recordings are incomplete.
 */
export function environmentGrader(pool: EnvironmentPool): Grader {
  return async (episodes, { task, signal }) => {
    const played = episodes.filter(canBePlayed);
    const kept = episodes.filter((episode) => !canBePlayed(episode));
    if (played.length === 0) return kept;
    const { index, id, hash, task: content } = task;
    const sampleIndices = played.map(({ sampleIndex }) => sampleIndex);
    const group = await rolloutGroup({
      environment: pool,
      policies: await replayPolicy(played),
      task: { index, id, hash, task: content, sampleIndices } as {
        index: number;
        id: string;
        hash: string;
        task: unknown;
      },
      groupSize: Math.max(...sampleIndices) + 1,
      seed: task.seed,
      signal,
    });
    const recorded = new Map(played.map((episode) => [episode.sampleIndex, episode]));
    return [...group.episodes.map((episode) => asPlayed(episode, recorded.get(episode.sampleIndex)!)), ...kept];
  };
}

/** The graded episode with the recorded policies and duration, because these describe the model and not the grading. */
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
