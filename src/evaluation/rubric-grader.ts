import type { AgentId } from "../contract/action.ts";
import type { AgentEpisode, Episode } from "../contract/episode.ts";
import { toErrorData } from "../contract/errors/index.ts";
import { textOf } from "../contract/message.ts";
import { addRewards, type Reward, unscored } from "../contract/reward.ts";
import type { Rubric } from "../core/rubric/rubric.ts";
import type { Grader } from "./rescore.ts";

/** What a rubric is asked with about one agent of a recorded episode. */
export interface RecordedAnswer {
  readonly agent: AgentId;
  /** The text of the agent's last message; empty where it said nothing. */
  readonly text: string;
  /** The task, gold answer included, as the environment has it. */
  readonly task: unknown;
  readonly episode: Episode;
}

/**
 * Grades by a rubric: each agent's reward is what the rubric gives its record. Episodes that a policy or environment
 * failed stay failed.
 */
export function rubricGrader(rubric: Rubric<RecordedAnswer>): Grader {
  return async (episodes, { task, signal }) => {
    const graded = await Promise.all(
      episodes.map(async (episode) => {
        if (episode.status === "failed") return episode;
        const agents = Object.entries(episode.agents).map(async ([agent, record]) => {
          const context = { agent, text: lastText(record), task: task.task, episode, signal };
          const reward = await rubric.score(context).catch((error: unknown) => {
            signal?.throwIfAborted();
            return unscored("The rubric failed.", toErrorData(error));
          });
          return [agent, withReward(record, reward)] as const;
        });
        return { ...episode, agents: Object.fromEntries(await Promise.all(agents)) };
      }),
    );
    const together = await rubric.scoreGroup?.(graded, signal === undefined ? {} : { signal });
    if (together === undefined) return graded;
    return graded.map((episode) => addGroupRewards(episode, together[episode.id] ?? {}));
  };
}

function lastText({ nodes, turns }: AgentEpisode): string {
  const last = turns.at(-1);
  return last === undefined ? "" : textOf(nodes[last.node]!.message);
}

/** The whole reward stands on the last action, and nothing on those before. */
function withReward(record: AgentEpisode, reward: Reward): AgentEpisode {
  const last = record.turns.length - 1;
  const turns = record.turns.map(({ reward: _, ...turn }, index) => (index === last ? { ...turn, reward } : turn));
  return { ...record, turns, reward };
}

function addGroupRewards(episode: Episode, rewards: Readonly<Record<AgentId, Reward>>): Episode {
  const agents = Object.entries(episode.agents).map(([agent, record]) => {
    const added = rewards[agent];
    return [agent, added === undefined ? record : withReward(record, addRewards(record.reward, added))] as const;
  });
  return { ...episode, agents: Object.fromEntries(agents) };
}
