import type { AgentId } from "../../src/contract/action.ts";
import type { AgentStep, Observations } from "../../src/contract/environment.ts";
import { textOf } from "../../src/contract/message.ts";
import type { SessionEpisode, SessionStepResult } from "../session/session.ts";

/** The body of OpenEnv's reset and step answers. `metadata` is also in the observation, as in OpenEnv 0.10. */
export interface ObservationBody {
  readonly observation: Readonly<Record<string, unknown>>;
  readonly reward: number | null;
  readonly done: boolean;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** Returns the answer to a reset. */
export function episodeBody(episode: SessionEpisode): ObservationBody {
  const { observations, episodeId, taskId, seed, split, index } = episode;
  return {
    observation: {
      text: textOfObservations(observations),
      observations,
      episode_id: episodeId,
      task_id: taskId,
      seed,
      split,
      index,
    },
    reward: null,
    done: Object.keys(observations).length === 0,
  };
}

/**
 * Returns the answer to a step. `extra` are fields of OpenEnv's own observations. The reward is that of the agents that
 * acted: their sum, or null if one of them is unscored or none has a reward.
 */
export function stepBody(
  result: SessionStepResult,
  { acted, extra = {} }: { readonly acted: readonly AgentId[]; readonly extra?: Readonly<Record<string, unknown>> },
): ObservationBody {
  const { observations, agents, correct, info, done } = result;
  const reasons = unscoredReasons(agents);
  const metadata = Object.keys(reasons).length === 0 ? undefined : { unscored: reasons };
  return {
    observation: {
      text: textOfObservations(observations),
      ...extra,
      observations,
      agents,
      ...(correct === undefined ? {} : { correct }),
      ...(info === undefined ? {} : { info }),
      ...(metadata === undefined ? {} : { metadata }),
    },
    reward: rewardOf(agents, acted),
    done,
    ...(metadata === undefined ? {} : { metadata }),
  };
}

/** Returns the new messages of the only agent that acts next. Empty for several agents and at the end. */
export function textOfObservations(observations: Observations): string {
  const all = Object.values(observations);
  return all.length === 1 ? all[0]!.messages.map(textOf).join("\n\n") : "";
}

function rewardOf(agents: Readonly<Record<AgentId, AgentStep>>, acted: readonly AgentId[]): number | null {
  let sum: number | null = null;
  for (const agent of acted) {
    const reward = agents[agent]?.reward;
    if (reward === undefined) continue;
    if (reward.status === "unscored") return null;
    sum = (sum ?? 0) + reward.value;
  }
  return sum;
}

function unscoredReasons(agents: Readonly<Record<AgentId, AgentStep>>): Readonly<Record<AgentId, string>> {
  return Object.fromEntries(
    Object.entries(agents).flatMap(([agent, { reward }]) =>
      reward?.status === "unscored" ? [[agent, reward.reason]] : [],
    ),
  );
}
