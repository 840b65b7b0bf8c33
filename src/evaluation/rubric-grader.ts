import type { AgentId } from "../contract/action.ts";
import type { AgentEpisode, Episode } from "../contract/episode.ts";
import { toErrorData } from "../contract/errors/index.ts";
import { textOf } from "../contract/message.ts";
import { addRewards, type Reward, unscored } from "../contract/reward.ts";
import type { Rubric } from "../core/rubric/rubric.ts";
import type { Grader } from "./rescore.ts";

/** The context of a rubric: the record of one agent of an episode. */
export interface RecordedAnswer {
  readonly agent: AgentId;
  /** The text of the agent's last message. Empty if there is none. */
  readonly text: string;
  /** The environment's task, including its reference answer. */
  readonly task: unknown;
  readonly episode: Episode;
}

/**
 * Creates a grader that scores each agent's record by a rubric. Episodes in which a policy or the environment failed
 * stay failed.
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
    const together = await rubric.scoreGroup?.(graded, { signal });
    if (together === undefined) return graded;
    return graded.map((episode) => addGroupRewards(episode, together[episode.id] ?? {}));
  };
}

function lastText({ nodes, turns }: AgentEpisode): string {
  const last = turns.at(-1);
  return last === undefined ? "" : textOf(nodes[last.node]!.message);
}

/** Assigns the whole reward to the last action and removes those of earlier actions. */
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
