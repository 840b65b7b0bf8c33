import type { AgentId } from "../../contract/action.ts";
import type { Episode } from "../../contract/episode.ts";
import { type Reward, type UnscoredReward, unscored } from "../../contract/reward.ts";
import type { GroupCriterion, ResolvedCriterion } from "./criterion.ts";
import { type CriterionScore, checkedScore, compose } from "./score-answer.ts";
import { type EpisodeScores, scoreGroup } from "./score-group.ts";

/** Returns the rewards of group criteria, by episode id and agent. */
export async function groupRewards(options: {
  readonly criteria: readonly (GroupCriterion & ResolvedCriterion)[];
  readonly episodes: readonly Episode[];
  readonly signal?: AbortSignal;
}): Promise<Record<string, Record<AgentId, Reward>>> {
  const { criteria, episodes, signal } = options;
  signal?.throwIfAborted();
  const answers = await Promise.all(criteria.map((criterion) => scoreGroup(criterion, episodes, signal)));
  signal?.throwIfAborted();
  const rewards: Record<string, Record<AgentId, Reward>> = {};
  for (const [index, { id, agents }] of episodes.entries()) {
    const ofAgent = (agent: AgentId): Reward => {
      const scores = criteria.map((criterion, place) => scoreOf(criterion, answers[place]![index]!, agent));
      return compose(criteria, scores);
    };
    rewards[id] = Object.fromEntries(Object.keys(agents).map((agent) => [agent, ofAgent(agent)]));
  }
  return rewards;
}

/** Returns the score of an agent. If both attempts fail in the same way, the answer is the cause of the failure. */
function scoreOf(criterion: GroupCriterion & ResolvedCriterion, scores: EpisodeScores, agent: AgentId): CriterionScore {
  if ("status" in scores) return scores;
  const [first, second] = scores.given.map((given) => {
    const score = typeof given === "object" && !isUnscored(given) ? given?.[agent] : given;
    return checkedScore(criterion, score, criterion.scoreGroup);
  });
  if (typeof first === "number") return first;
  if (typeof second === "number") return second;
  const failure = second?.failure;
  if (failure === undefined || failure.message !== first?.failure?.message)
    return first?.reward ?? unscored("No score.");
  return { status: "failed", failure };
}

function isUnscored(score: object): score is UnscoredReward {
  return (score as Partial<UnscoredReward> | null)?.status === "unscored";
}
