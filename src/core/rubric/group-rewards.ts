import type { AgentId } from "../../contract/action.ts";
import type { Episode } from "../../contract/episode.ts";
import { type Reward, type UnscoredReward, unscored } from "../../contract/reward.ts";
import type { GroupCriterion, GroupScores, ResolvedCriterion } from "./criterion.ts";
import { attempt, checkScore, compose, type Judged } from "./judge.ts";

/** What group criteria add to each agent of each episode, by the episode's id. */
export async function groupRewards(options: {
  readonly criteria: readonly (GroupCriterion & ResolvedCriterion)[];
  readonly episodes: readonly Episode[];
  readonly signal?: AbortSignal;
}): Promise<Record<string, Record<AgentId, Reward>>> {
  const { criteria, episodes, signal } = options;
  signal?.throwIfAborted();
  const answers = await Promise.all(
    criteria.map((criterion) =>
      attempt(criterion, {
        ask: (stop) => criterion.scoreGroup(episodes, { signal: stop }),
        ...(signal === undefined ? {} : { signal }),
      }),
    ),
  );
  signal?.throwIfAborted();
  const rewards: Record<string, Record<AgentId, Reward>> = {};
  for (const [index, { id, agents }] of episodes.entries()) {
    const ofAgent = (agent: AgentId): Reward => {
      const scores = criteria.map((criterion, place) => {
        const answer = answers[place]!;
        return answer.status === "unscored"
          ? answer
          : scoreOf({ criterion, answer: answer.value, index, agent, count: episodes.length });
      });
      return compose(criteria, scores);
    };
    rewards[id] = Object.fromEntries(Object.keys(agents).map((agent) => [agent, ofAgent(agent)]));
  }
  return rewards;
}

function scoreOf(options: {
  readonly criterion: ResolvedCriterion;
  readonly answer: GroupScores;
  readonly index: number;
  readonly agent: AgentId;
  readonly count: number;
}): Judged {
  const { criterion, answer, index, agent, count } = options;
  if (!Array.isArray(answer) || answer.length !== count) {
    return unscored(`Criterion "${criterion.name}" did not give one score for each of ${count} episodes.`);
  }
  const score: GroupScores[number] = answer[index];
  if (typeof score === "number" || isUnscored(score)) return checkScore(criterion, score);
  return checkScore(criterion, score?.[agent]);
}

function isUnscored(score: Exclude<GroupScores[number], number>): score is UnscoredReward {
  return score?.status === "unscored";
}
